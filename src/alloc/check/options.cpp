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

bool read_bytes(const char* text, std::size_t* value) {
  MemoryAmount amount;
  if (!parse_memory_amount(text, &amount) || amount.kind != MemoryAmount::Kind::kBytes) {
    return false;
  }
  *value = amount.value;
  return true;
}

bool read_guards_item(const char* item, CheckOptions* options) {
  if (const char* value = value_of(item, "every")) {
    options->guard_seldom = false;
    return read_bytes(value, &options->guard_every) && options->guard_every != 0 &&
           options->guard_every <= CheckOptions::kMaxGuardDistance;
  }
  if (const char* value = value_of(item, "slots")) {
    return read_count(value, CheckOptions::kMaxGuardSlots, &options->guard_slots) &&
           options->guard_slots != 0;
  }
  return false;
}

bool read_full_item(const char* item, CheckOptions* options) {
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
    if (memory_amount::same_word(value, "0")) {
      options->quarantine = 0;
      return true;
    }
    return read_bytes(value, &options->quarantine);
  }
  return false;
}

CheckedBlocks read_checked_blocks(const char* word) {
  if (memory_amount::same_word(word, "full")) return CheckedBlocks::kEvery;
  return memory_amount::same_word(word, "guards") ? CheckedBlocks::kSome : CheckedBlocks::kNone;
}

}  // namespace

void read_check_options(const char* text, CheckOptions* options) {
  if (memory_amount::same_word(text, "0")) return;
  CheckItem item;
  const char* rest = next_check_item(text, &item);
  options->blocks = read_checked_blocks(item.text);
  const auto read_item =
      options->blocks == CheckedBlocks::kSome ? read_guards_item : read_full_item;
  bool right = item.fits && options->blocks != CheckedBlocks::kNone;
  while (right && rest != nullptr) {
    rest = next_check_item(rest, &item);
    right = item.fits && read_item(item.text, options);
  }
  if (right) return;
  Text<512> line;
  line.add("corbel: CORBEL_CHECK=").add(text);
  line.add(
      " is ignored: set it to 0; to guards, which every=SIZE and slots=N may follow, with commas; "
      "or to full, which guard=all, quarantine=SIZE, redzone=BYTES, fill=no and frames=N may "
      "follow\n");
  os::write_error(line.data(), line.size());
  *options = {};
}

}  // namespace corbel::alloc
