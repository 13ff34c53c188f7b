// SPDX-License-Identifier: Apache-2.0
// The heap profile of CORBEL_PROFILE, from the beginning of the process to its end.
#include <errno.h>

#include "alloc/map/instrument_hooks.hpp"
#include "alloc/profile/heap_profile.hpp"
#include "alloc/profile/profile_setting.hpp"
#include "alloc/sample/sampler.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// Written once, before the program has a second thread that could have allocated.
struct AtExit {
  bool is_wanted;
  std::uint32_t process;  // that was set up; the child of a fork is another one
  // With %p for the process's number. Absolute, if the system told the current folder: a daemon
  // changes it.
  char path[ProfileSetting::kMaxPath];
};
constinit AtExit profile_at_exit{};

using Path = Text<ProfileSetting::kMaxPath>;

// If the pattern does not name the process, a child of a fork adds its number, so that it leaves
// the file to its parent.
void make_path(Path& path) {
  const std::uint32_t process = os::process_id();
  bool has_process = process == profile_at_exit.process;
  for (const char* p = profile_at_exit.path; *p != '\0'; ++p) {
    if (p[0] == '%' && p[1] == 'p') {
      path.add_decimal(process);
      has_process = true;
      ++p;
    } else {
      const char one[] = {*p, '\0'};
      path.add(one);
    }
  }
  if (!has_process) path.add(".").add_decimal(process);
}

const char* what_to_do(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "its folder does not exist; create the folder, or set file= to another name";
    case EACCES:
    case EPERM:
    case EROFS:
      return "permission denied; set file= to a name in a folder that the program may write to";
    case ENOSPC:
    case EDQUOT:
      return "the disk is full; free some space, or set file= to a name on another disk";
    case EISDIR:
    case EEXIST:
      return "that is a folder; set file= to the name of a file";
    case ENAMETOOLONG:
      return "the name is too long; set file= to a shorter one";
    case EMFILE:
    case ENFILE:
      return "too many files are open; raise the limit (ulimit -n)";
    case ENOMEM:
      return "there is no memory left for it; raise the limits of the process";
    default:
      return nullptr;
  }
}

void report_failure(const char* path, int error) {
  Text<ProfileSetting::kMaxPath + 256> line;
  line.add("corbel: cannot write the heap profile to ").add(path).add(": ");
  if (const char* const text = what_to_do(error)) {
    line.add(text);
  } else {
    line.add("error ").add_decimal(std::uint64_t(error));
    line.add("; set file= to a name on another disk");
  }
  line.add("\n");
  os::write_error(line.data(), line.size());
}

__attribute__((destructor)) void write_heap_profile_at_exit() {
  if (!profile_at_exit.is_wanted) return;
  Path path;
  make_path(path);
  if (const int error = write_heap_profile_to(path.c_str())) report_failure(path.c_str(), error);
}

void begin(const ProfileSetting& setting) {
  AtExit& at_exit = profile_at_exit;
  TextInto path(at_exit.path, sizeof at_exit.path);
  if (setting.file[0] != '/') {
    char folder[ProfileSetting::kMaxPath];
    os::read_current_folder(folder, sizeof folder);
    if (folder[0] != '\0') path.add(folder).add("/");
  }
  path.add(setting.file).finish();
  at_exit.process = os::process_id();
  at_exit.is_wanted = true;
  if (setting.has_seed) seed_sampling(setting.seed);
  start_heap_profile(setting.every);
}

}  // namespace

void set_up_sampling() {
  const char* const text = os::environment("CORBEL_PROFILE");
  if (text == nullptr) return;
  ProfileSetting setting;
  if (parse_profile_setting(text, &setting)) return begin(setting);
  Text<512> line;
  line.add("corbel: CORBEL_PROFILE=").add(text).add(" is ignored: set it to ").add(kProfileForms);
  line.add("\n");
  os::write_error(line.data(), line.size());
}

}  // namespace corbel::alloc
