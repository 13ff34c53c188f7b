// SPDX-License-Identifier: Apache-2.0
// What the corbel command and the libraries agree on, so that one can ask the other.
//
// The command binds an abstract socket whose name is a random number, listens, and queues a signal
// with that number to the process. The signal's default action is to be ignored, so it does no harm
// in a process that has no handler for it. The handler connects to the socket. Each side checks the
// other's credentials, of which the kernel informs it. The command sends one line; the answer is
// a line "ok", "busy" or "error <why>". After "ok" comes the content, in pieces of at most
// kMaxPiece bytes, each after its size as four bytes, lowest first; a size of 0 ends it. An answer
// without that end was cut off.
#pragma once

#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>

namespace corbel::os::request {

inline constexpr int kSignal = SIGURG;

// The signal's value: the mark, and below it the number that names the socket.
inline constexpr int kNumberBits = 48;
inline constexpr std::uint64_t kNumberMask = (std::uint64_t(1) << kNumberBits) - 1;
inline constexpr std::uint64_t kMark = std::uint64_t(0xc0be) << kNumberBits;

constexpr bool is_marked(std::uint64_t value) { return (value & ~kNumberMask) == kMark; }

struct Address {
  sockaddr_un address;
  socklen_t size;
};

inline Address address_of(std::uint64_t number) {
  constexpr char kPrefix[] = "corbel-control-";
  Address result{};
  result.address.sun_family = AF_UNIX;
  char* name = result.address.sun_path + 1;  // the zero in front makes it abstract
  for (const char* p = kPrefix; *p != '\0'; ++p) *name++ = *p;
  for (int shift = kNumberBits - 4; shift >= 0; shift -= 4) {
    *name++ = "0123456789abcdef"[number >> shift & 15];
  }
  const auto length = size_t(name - result.address.sun_path);
  result.size = socklen_t(offsetof(sockaddr_un, sun_path) + length);
  return result;
}

inline constexpr size_t kMaxLine = 512;                // of a command, with its line end
inline constexpr size_t kMaxPiece = size_t(64) << 10;  // of the content

// The name of the thread that is asked first if it exists, since no code of the program runs in it.
inline constexpr char kHelperName[] = "corbel";

}  // namespace corbel::os::request
