// SPDX-License-Identifier: Apache-2.0
#include "alloc/map/die.hpp"

#include <cstdint>

#include "alloc/map/instrument_hooks.hpp"
#include "base/text.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

void die(const char* function, const char* what, const void* block) noexcept {
  Text<512> line;
  line.add("corbel: ").add(function).add(": ").add(what).add(" (block ");
  line.add_hex(reinterpret_cast<std::uintptr_t>(block)).add(")\n");
  os::write_error(line.data(), line.size());
  add_to_death(block);
  os::abort();
}

}  // namespace corbel::alloc
