// SPDX-License-Identifier: Apache-2.0
// Windows' functions take UTF-16; this program's texts are UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace corbel::cli {

std::wstring wide(std::string_view text);
std::string narrow(std::wstring_view text);

// What error `number` of the system means, in one line without a full stop.
std::string error_text(unsigned long number);

}  // namespace corbel::cli
