// SPDX-License-Identifier: Apache-2.0
#include "alloc/leaks/options.hpp"

#include <string.h>

#include "alloc/profile/profile_setting.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// An item of the list, which is not zero-terminated.
struct LeakItem {
  const char* text;
  std::size_t size;

  bool is(const char* word) const { return strlen(word) == size && memcmp(text, word, size) == 0; }
};

bool read_leak_item(const LeakItem& item, LeakOptions* options) {
  constexpr char kFile[] = "file=";
  constexpr std::size_t kName = sizeof kFile - 1;
  constexpr char kEvery[] = "every=";
  constexpr std::size_t kEverySize = sizeof kEvery - 1;
  if (item.is("1")) return options->blocks = LeakBlocks::kEvery, true;
  if (item.is("sampled")) return options->blocks = LeakBlocks::kSampled, true;
  if (item.is("0")) return options->blocks = LeakBlocks::kNone, true;
  if (item.is("possible")) return options->possible = true;
  if (item.is("reachable")) return options->reachable = true;
  char distance[32] = {};
  if (item.size > kEverySize && item.size - kEverySize < sizeof distance &&
      memcmp(item.text, kEvery, kEverySize) == 0) {
    memcpy(distance, item.text + kEverySize, item.size - kEverySize);
    return profile_setting::parse_distance(distance, &options->every);
  }
  if (item.size <= kName || item.size - kName >= kMaxLeakPath ||
      memcmp(item.text, kFile, kName) != 0) {
    return false;
  }
  memcpy(options->file, item.text + kName, item.size - kName);
  options->file[item.size - kName] = '\0';
  return true;
}

}  // namespace

void read_leak_options(const char* text, LeakOptions* options) {
  if (text == nullptr) return;
  for (const char* at = text;; ++at) {
    const LeakItem item{at, strcspn(at, ",")};
    if (!read_leak_item(item, options)) {
      options->blocks = LeakBlocks::kNone;
      Text<512> line;
      line.add("corbel: CORBEL_LEAKS=").add(text);
      line.add(
          " is ignored: set it to 1, with ,possible ,reachable ,file=PATH as needed; or to "
          "sampled, "
          "with ,every=SIZE ,file=PATH\n");
      os::write_error(line.data(), line.size());
      return;
    }
    at += item.size;
    if (*at == '\0') return;
  }
}

}  // namespace corbel::alloc
