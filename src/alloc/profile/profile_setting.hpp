// SPDX-License-Identifier: Apache-2.0
// The value of CORBEL_PROFILE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc/profile/heap_profile.hpp"
#include "alloc/profile/profile_file.hpp"
#include "alloc/sample/sampler.hpp"
#include "base/memory_amount.hpp"

namespace corbel::alloc {

inline constexpr char kProfileForms[] =
    "heap, and after commas what you want of every=512K (bytes from 1 to 1T), file=NAME, seed=1; "
    "or to time,every=1ms";

struct ProfileSetting {
  std::uint64_t every = 0;  // as for start_heap_profile()
  bool has_seed = false;
  std::uint64_t seed = 0;
  char file[ProfileFile::kMaxPath] = "corbel.heap.%p.pb.gz";
};

namespace profile_setting {

// Copies the text up to the next comma, at most `capacity` - 1 characters of it. Returns where it
// ends; nullptr if it is longer.
constexpr const char* copy_part(const char* text, char* part, std::size_t capacity) {
  std::size_t size = 0;
  for (; *text != '\0' && *text != ','; ++text) {
    if (size + 1 == capacity) return nullptr;
    part[size++] = *text;
  }
  part[size] = '\0';
  return text;
}

constexpr const char* after_prefix(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return nullptr;
  }
  return text;
}

constexpr bool parse_number(const char* text, std::uint64_t* value) {
  if (*text == '\0') return false;
  for (*value = 0; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9' || *value > (UINT64_MAX - 9) / 10) return false;
    *value = *value * 10 + std::uint64_t(*text - '0');
  }
  return true;
}

constexpr bool parse_distance(const char* text, std::uint64_t* value) {
  MemoryAmount amount;
  if (!parse_memory_amount(text, &amount) || amount.kind != MemoryAmount::Kind::kBytes)
    return false;
  *value = amount.value;
  return amount.value != 0 && amount.value <= kMaxSamplingDistance;
}

// Reads `kind` and what follows it after commas: "file=" into `file`, and gives every other part to
// `take`, which returns false for one that it does not know. False when the text has another form.
template <class Take>
constexpr bool parse_parts(const char* text, const char* kind, char (&file)[ProfileFile::kMaxPath],
                           Take take) {
  const char* rest = after_prefix(text, kind);
  while (rest != nullptr && *rest == ',') {
    ++rest;
    if (const char* const name = after_prefix(rest, "file=")) {
      rest = copy_part(name, file, ProfileFile::kMaxPath);
      if (file[0] == '\0') return false;
      continue;
    }
    char part[64]{};
    rest = copy_part(rest, part, sizeof part);
    if (rest == nullptr || !take(part)) return false;
  }
  return rest != nullptr && *rest == '\0';
}

}  // namespace profile_setting

// Whether the value asks for a profile of the time at all, right or wrong.
constexpr bool is_time_setting(const char* text) {
  const char* const rest = profile_setting::after_prefix(text, "time");
  return rest != nullptr && (*rest == '\0' || *rest == ',');
}

// False when `text` is not one of kProfileForms.
constexpr bool parse_profile_setting(const char* text, ProfileSetting* setting) {
  using namespace profile_setting;
  return parse_parts(text, "heap", setting->file, [setting](const char* part) {
    if (const char* const every = after_prefix(part, "every=")) {
      return parse_distance(every, &setting->every);
    }
    const char* const seed = after_prefix(part, "seed=");
    if (seed == nullptr || !parse_number(seed, &setting->seed)) return false;
    setting->has_seed = true;
    return true;
  });
}

}  // namespace corbel::alloc
