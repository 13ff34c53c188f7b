// SPDX-License-Identifier: Apache-2.0
#include "alloc/check/options.hpp"

#include "alloc/stacks/stack_table.hpp"
#include "base/bits.hpp"
#include "base/memory_amount.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

constinit CheckOptions check_options;

namespace {

constexpr std::size_t kMaxCheckItem = 32;

// The next item of a list with commas.
struct CheckItem {
  char text[kMaxCheckItem];
  bool fits;
};

const char* next_check_item(const char* list, CheckItem* item) {
  std::size_t n = 0;
  for (; *list != '\0' && *list != ','; ++list) {
    if (n + 1 < kMaxCheckItem) item->text[n] = *list;
    ++n;
  }
  item->fits = n < kMaxCheckItem;
  item->text[n < kMaxCheckItem ? n : kMaxCheckItem - 1] = '\0';
  return *list == ',' ? list + 1 : nullptr;
}

// What follows `name` and an equals sign; nullptr if the item is another one.
const char* value_of(const char* item, const char* name) {
  while (*name != '\0' && *item == *name) ++item, ++name;
  return *name == '\0' && *item == '=' ? item + 1 : nullptr;
}

bool read_count(const char* text, std::size_t most, std::size_t* value) {
  if (*text == '\0') return false;
  std::size_t n = 0;
  for (; *text >= '0' && *text <= '9' && n <= most; ++text) n = n * 10 + std::size_t(*text - '0');
  if (*text != '\0' || n > most) return false;
  *value = n;
  return true;
}

bool read_check_item(const char* item, CheckOptions* options) {
  if (const char* value = value_of(item, "guard")) {
    options->guard_all = memory_amount::same_word(value, "all");
    return options->guard_all || memory_amount::same_word(value, "large");
  }
  if (const char* value = value_of(item, "fill")) {
    options->fill = memory_amount::same_word(value, "yes");
    return options->fill || memory_amount::same_word(value, "no");
  }
  if (const char* value = value_of(item, "redzone")) {
    if (!read_count(value, kMaxRedzone, &options->redzone) || options->redzone == 0) return false;
    options->redzone = align_up(options->redzone, 16);
    return true;
  }
  if (const char* value = value_of(item, "frames")) {
    std::size_t n = 0;
    if (!read_count(value, kMaxFrames, &n)) return false;
    options->frames = unsigned(n);
    return true;
  }
  if (const char* value = value_of(item, "quarantine")) {
    MemoryAmount amount;
    if (memory_amount::same_word(value, "0")) {
      options->quarantine = 0;
      return true;
    }
    if (!parse_memory_amount(value, &amount) || amount.kind != MemoryAmount::Kind::kBytes) {
      return false;
    }
    options->quarantine = amount.value;
    return true;
  }
  return false;
}

}  // namespace

bool read_check_options(const char* text, CheckOptions* options) {
  if (memory_amount::same_word(text, "0")) return false;
  CheckItem item;
  const char* rest = next_check_item(text, &item);
  bool right = item.fits && memory_amount::same_word(item.text, "full");
  while (right && rest != nullptr) {
    rest = next_check_item(rest, &item);
    right = item.fits && read_check_item(item.text, options);
  }
  if (right) return true;
  Text<400> line;
  line.add("corbel: CORBEL_CHECK=").add(text);
  line.add(
      " is ignored: set it to 0 or full, which guard=all, quarantine=SIZE, redzone=BYTES, "
      "fill=no and frames=N may follow, with commas\n");
  os::write_error(line.data(), line.size());
  *options = {};
  return false;
}

}  // namespace corbel::alloc
