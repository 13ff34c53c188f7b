// SPDX-License-Identifier: Apache-2.0
// Loads and unloads a plugin that uses the library; this program itself does not link it. The
// workers, and the library's hooks in the program's threads, outlive the plugin.
#include <dlfcn.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

// The state of a thread as the kernel reports it: 'S' is asleep.
char state_of(const std::filesystem::path& task) {
  std::ifstream file(task / "stat");
  const std::string stat((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos ? 'X' : stat[name_end + 2];  // X: the thread has ended
}

// Waits until all threads but this one are asleep. No code of the plugin blocks, so they have left
// it: after the result is known, a worker may still be on its way out of the task.
void wait_for_the_others() {
  const auto is_running = [] {
    int awake = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      const char state = state_of(task.path());
      awake += state != 'S' && state != 'X' && state != 'Z';
    }
    return awake > 1;
  };
  while (is_running()) std::this_thread::yield();
}

bool use_plugin(const char* path) {
  void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  const auto compute = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_compute"));
  const bool right = compute != nullptr && compute() == 4;
  wait_for_the_others();
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
  return 0;
}
