// SPDX-License-Identifier: Apache-2.0
#include "alloc/control/answer.hpp"
#include "alloc/map/instrument_hooks.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

bool is_one_character(const char* text, char c) { return text[0] == c && text[1] == '\0'; }

// Whether CORBEL_CONTROL lets the corbel command ask this process.
bool is_wanted() {
  const char* text = os::environment("CORBEL_CONTROL");
  if (text == nullptr || is_one_character(text, '1')) return true;
  if (is_one_character(text, '0')) return false;
  Text<256> line;
  line.add("corbel: CORBEL_CONTROL=").add(text).add(" is ignored: set it to 0 or 1\n");
  os::write_error(line.data(), line.size());
  return true;
}

}  // namespace

void set_up_control() {
  if (is_wanted()) os::take_requests(answer_request);
}

}  // namespace corbel::alloc
