// SPDX-License-Identifier: Apache-2.0
// Names of DLLs, which are the same in any case.
#pragma once

#include <string>
#include <string_view>

namespace corbel::cli {

// In lower case, as far as it is ASCII, which the names of imports are.
std::string lower(std::string_view text);

inline bool same_name(std::string_view one, std::string_view other) {
  return lower(one) == lower(other);
}

// Whether a DLL is one of a C runtime that Corbel replaces malloc in: ucrtbase.dll, msvcrt.dll,
// msvcr120.dll and others, and the names by which programs import the first of them.
bool is_c_runtime(std::string_view dll);

// The DLL that an import from `dll` leads to: "ucrtbase.dll" for "api-ms-win-crt-heap-l1-1-0.dll".
std::string runtime_of(std::string_view dll);

}  // namespace corbel::cli
