// SPDX-License-Identifier: Apache-2.0
// The corbel command cannot ask a running process yet.
#include "os/os.hpp"

namespace corbel::os {

bool take_requests(void (*)(const Request&)) { return false; }
bool attend_requests() { return false; }
RequestSocket::RequestSocket(std::uint64_t) {}
RequestSocket::~RequestSocket() = default;
bool RequestSocket::read_line(char*, std::size_t) { return false; }
bool RequestSocket::write(const void*, std::size_t) { return false; }

}  // namespace corbel::os
