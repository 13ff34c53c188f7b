// SPDX-License-Identifier: Apache-2.0
// Loads and unloads a plugin that uses the library; this program itself does not link it. The
// workers, and the library's hooks in the program's threads, outlive the plugin.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace {

bool use_plugin(const char* path) {
  void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  const auto compute = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_compute"));
  const bool right = compute != nullptr && compute() == 4;
  dlclose(plugin);
  return right;
}

}  // namespace

int main(int, char** arguments) {
  for (int i = 0; i < 10; ++i) {
    if (!use_plugin(arguments[1])) return 1;
    bool right = false;
    std::thread([&] { right = use_plugin(arguments[1]); }).join();
    if (!right) return 2;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // lets the workers fall asleep
  return 0;
}
