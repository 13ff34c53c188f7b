// SPDX-License-Identifier: Apache-2.0
// The heap profile of CORBEL_PROFILE, from the beginning of the process to its end.
#include "alloc/map/instrument_hooks.hpp"
#include "alloc/profile/heap_profile.hpp"
#include "alloc/profile/profile_file.hpp"
#include "alloc/profile/profile_setting.hpp"
#include "alloc/sample/sampler.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constinit ProfileFile file_at_exit;

__attribute__((destructor)) void write_heap_profile_at_exit() {
  if (file_at_exit.is_chosen()) file_at_exit.write("heap profile", write_heap_profile_to);
}

void begin(const ProfileSetting& setting) {
  file_at_exit.choose(setting.file);
  if (setting.has_seed) seed_sampling(setting.seed);
  start_heap_profile(setting.every);
}

}  // namespace

void set_up_sampling() {
  const char* const text = os::environment("CORBEL_PROFILE");
  if (text == nullptr || is_time_setting(text)) return;
  ProfileSetting setting;
  if (parse_profile_setting(text, &setting)) return begin(setting);
  Text<512> line;
  line.add("corbel: CORBEL_PROFILE=").add(text).add(" is ignored: set it to ").add(kProfileForms);
  line.add("\n");
  os::write_error(line.data(), line.size());
}

}  // namespace corbel::alloc
