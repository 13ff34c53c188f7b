// SPDX-License-Identifier: Apache-2.0
#include "alloc/control/profile_command.hpp"

#include <errno.h>
#include <string.h>

#include "alloc/control/words.hpp"
#include "alloc/profile/heap_profile.hpp"
#include "alloc/profile/profile_setting.hpp"

namespace corbel::alloc {

namespace {

void start(const char* words, Reply& reply) {
  std::uint64_t every = 0;
  if (*words != '\0') {
    const char* const text = profile_setting::after_prefix(words, "every=");
    if (text == nullptr || !profile_setting::parse_distance(text, &every)) {
      return reply.fail("every= needs a number of bytes from 1 to 1T");
    }
  }
  const bool was_on = heap_profile_is_on();
  const bool had_begun = heap_profile_has_begun();
  if (!was_on || *words != '\0') start_heap_profile(every);
  const char* const before = was_on ? "on" : had_begun ? "again" : "off";
  if (reply.add(before, strlen(before))) reply.finish();
}

void write(Reply& reply) {
  if (!heap_profile_has_begun()) return reply.fail("the heap profile has not been started");
  ProfileSink sink{&reply, [](void* place, const void* data, std::size_t size) {
                     return static_cast<Reply*>(place)->add(data, size);
                   }};
  switch (write_heap_profile(sink)) {
    case 0:
      reply.finish();
      break;
    case EBUSY:
      reply.busy();
      break;
    case ENOMEM:
      reply.fail("the process has no memory left to prepare the profile");
      break;
    default:
      break;
  }
}

}  // namespace

void command_profile(const char* words, Reply& reply) {
  if (const char* rest = words_after("heap start", words)) return start(rest, reply);
  if (words_after("heap write", words) != nullptr) return write(reply);
  if (words_after("heap stop", words) != nullptr) {
    stop_heap_profile();
    reply.finish();
    return;
  }
  reply.fail("this profile is not known to the Corbel in the process");
}

}  // namespace corbel::alloc
