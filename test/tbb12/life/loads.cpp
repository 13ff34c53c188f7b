// SPDX-License-Identifier: Apache-2.0
// loads LIBRARY PLUGIN OTHER: not linked to the library itself. Loads and unloads it, and a plug-in
// that is linked to it, beside the same plug-in linked to another libtbb.so.12, and in a namespace.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "life.hpp"

namespace {

void* load(const char* path, int flags = RTLD_NOW | RTLD_LOCAL) {
  void* const handle = dlopen(path, flags);
  if (handle == nullptr) {
    std::puts(dlerror());
    std::exit(1);
  }
  return handle;
}

long use(void* plugin) { return reinterpret_cast<long (*)()>(dlsym(plugin, "use"))(); }

// Whether all other threads sleep. One that still returns from a task of the plug-in does not, and
// the plug-in must not be unloaded under it.
bool all_sleep() {
  bool found_none_awake = true;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.' || std::atol(entry->d_name) == getpid()) continue;
    std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(')');
    found_none_awake &= end == std::string::npos || text[end + 2] == 'S';
  }
  closedir(tasks);
  return found_none_awake;
}

void unload(void* handle) {
  wait_for(&all_sleep);
  dlclose(handle);
}

}  // namespace

int main(int, char** arguments) {
  const char *const library = arguments[1], *const plugin = arguments[2],
                    *const beside = arguments[3];
  for (int i = 0; i < 20; ++i) dlclose(load(library));
  say("loaded and unloaded", 20);
  long sum = 0;
  for (int i = 0; i < 20; ++i) {
    void* const handle = load(plugin);
    sum += use(handle);
    unload(handle);
  }
  say("used by a plug-in", sum);
  // A thread that has used the plug-in ends after it is unloaded.
  void* const handle = load(plugin);
  std::atomic<int> step{0};
  std::thread user([&] {
    use(handle);
    step = 1;
    wait_for([&] { return step == 2; });
  });
  wait_for([&] { return step == 1; });
  unload(handle);
  step = 2;
  user.join();
  say("a thread ended later", 1);
  // Workers of both libraries run tasks while the plug-in comes and goes.
  void* const other = load(beside, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  std::atomic<bool> stops{false};
  std::atomic<long> rounds{0};
  std::thread user_of_other([&] {
    while (!stops) {
      use(other);
      ++rounds;
    }
  });
  for (int i = 0; i < 20; ++i) {
    void* const again = load(plugin);
    reinterpret_cast<void (*)()>(dlsym(again, "use_alone"))();
    const long before = rounds;
    wait_for([&] { return rounds > before; });
    dlclose(again);
  }
  stops = true;
  user_of_other.join();
  void* const one = load(plugin);
  say("one", use(one));
  const auto library_of = [](void* user) { return dlsym(user, "TBB_runtime_interface_version"); };
  use(other);
  say("other has its own", library_of(other) != library_of(one));
  // And once more in a namespace of its own, where all libraries are copies.
  void* const apart = dlmopen(LM_ID_NEWLM, plugin, RTLD_NOW | RTLD_LOCAL);
  if (apart == nullptr) std::puts(dlerror());
  const auto use_apart = reinterpret_cast<long (*)()>(dlsym(apart, "use_without_keys"));
  say("apart", use_apart());
  std::thread([&] { say("apart, in a thread", use_apart()); }).join();
  unload(one);  // not the other one: oneTBB's library must not be unloaded while it has workers
  return 0;
}
