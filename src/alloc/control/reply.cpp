// SPDX-License-Identifier: Apache-2.0
#include "alloc/control/reply.hpp"

#include <algorithm>
#include <cstdint>

#include "base/text.hpp"

namespace corbel::alloc {

namespace {

constexpr std::size_t kMaxPiece = std::size_t(64) << 10;  // as in os/linux/request.hpp

struct PieceHead {
  explicit PieceHead(std::size_t size) {
    for (unsigned i = 0; i < 4; ++i) bytes[i] = static_cast<unsigned char>(size >> 8 * i);
  }
  unsigned char bytes[4];
};

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

bool Reply::put(const void* data, std::size_t size) {
  if (!begun_) {
    begun_ = true;
    constexpr char kOk[] = "ok\n";
    failed_ = !socket_.write(kOk, sizeof kOk - 1);
  }
  failed_ = failed_ || !socket_.write(data, size);
  return !failed_;
}

bool Reply::add(const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size != 0) {
    const std::size_t piece = std::min(size, kMaxPiece);
    const PieceHead head(piece);
    if (!put(head.bytes, sizeof head.bytes) || !put(next, piece)) return false;
    next += piece;
    size -= piece;
  }
  return !failed_;
}

bool Reply::finish() {
  const PieceHead end(0);
  return put(end.bytes, sizeof end.bytes);
}

}  // namespace corbel::alloc
