// SPDX-License-Identifier: Apache-2.0
#include "alloc/profile/profile_file.hpp"

#include <errno.h>

#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

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
#ifdef EDQUOT
    case EDQUOT:
#endif
      return "the disk is full; free some space, or set file= (with corbel profile: TMPDIR) to "
             "a place on another disk";
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

void report_failure(const char* what, const char* path, int error) {
  Text<ProfileFile::kMaxPath + 256> line;
  line.add("corbel: cannot write the ").add(what).add(" to ").add(path).add(": ");
  if (const char* const text = what_to_do(error)) {
    line.add(text);
  } else {
    line.add("error ").add_decimal(std::uint64_t(error));
    line.add("; set file= to a name on another disk");
  }
  line.add("\n");
  os::write_error(line.data(), line.size());
}

}  // namespace

void ProfileFile::choose(const char* pattern) {
  TextInto text(pattern_, sizeof pattern_);
  if (!os::is_absolute(pattern)) {
    char folder[kMaxPath];
    os::read_current_folder(folder, sizeof folder);
    if (folder[0] != '\0') text.add(folder).add("/");
  }
  text.add(pattern).finish();
  process_ = os::process_id();
}

bool ProfileFile::is_of_this_process() const { return process_ == os::process_id(); }

void ProfileFile::write(const char* what, int (*write)(const char* path)) const {
  const std::uint32_t process = os::process_id();
  bool has_process = process == process_;
  Text<kMaxPath> path;
  for (const char* p = pattern_; *p != '\0'; ++p) {
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
  if (const int error = write(path.c_str())) report_failure(what, path.c_str(), error);
}

}  // namespace corbel::alloc
