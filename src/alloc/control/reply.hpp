// SPDX-License-Identifier: Apache-2.0
// The answer to a request, in the form that os/linux/request.hpp describes.
#pragma once

#include <cstddef>

#include "os/os.hpp"

namespace corbel::alloc {

// Exactly one of busy() and fail() is called, before anything else; or add(), any number of times,
// and then finish().
class Reply {
 public:
  Reply(os::RequestSocket& socket, const os::Request& request)
      : socket_(socket), request_(request) {}

  const os::Request& request() const { return request_; }

  // The figures cannot be had now: the other side asks again.
  void busy();
  // `why` is what the user reads, in one line.
  void fail(const char* why);

  // Adds to the content. False if the other side does not read, and then always.
  bool add(const void* data, std::size_t size);
  // Says that the content is complete.
  bool finish();

 private:
  bool put(const void* data, std::size_t size);

  os::RequestSocket& socket_;
  const os::Request& request_;
  bool begun_ = false;
  bool failed_ = false;
};

}  // namespace corbel::alloc
