// SPDX-License-Identifier: Apache-2.0
#include "alloc/control/reply.hpp"

#include <algorithm>
#include <cstdint>

#include "base/text.hpp"

namespace corbel::alloc {

namespace {

constexpr std::size_t kMaxPiece = std::size_t(64) << 10;  // as in os/linux/request.hpp

bool write_size(os::RequestSocket& socket, std::size_t size) {
  const unsigned char bytes[] = {
      static_cast<unsigned char>(size), static_cast<unsigned char>(size >> 8),
      static_cast<unsigned char>(size >> 16), static_cast<unsigned char>(size >> 24)};
  return socket.write(bytes, sizeof bytes);
}

}  // namespace

void Reply::busy() {
  constexpr char kBusy[] = "busy\n";
  socket_.write(kBusy, sizeof kBusy - 1);
}

void Reply::fail(const char* why) {
  Text<400> line;
  line.add("error ").add(why).add("\n");
  socket_.write(line.data(), line.size());
}

bool Reply::begin() {
  if (begun_) return true;
  begun_ = true;
  constexpr char kOk[] = "ok\n";
  return socket_.write(kOk, sizeof kOk - 1);
}

bool Reply::add(const void* data, std::size_t size) {
  if (!begin()) return false;
  const char* next = static_cast<const char*>(data);
  while (size != 0) {
    const std::size_t piece = std::min(size, kMaxPiece);
    if (!write_size(socket_, piece) || !socket_.write(next, piece)) return false;
    next += piece;
    size -= piece;
  }
  return true;
}

bool Reply::finish() { return begin() && write_size(socket_, 0); }

}  // namespace corbel::alloc
