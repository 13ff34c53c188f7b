// SPDX-License-Identifier: Apache-2.0
#include "alloc/control/leaks_command.hpp"

#include "alloc/control/words.hpp"
#include "alloc/leaks/leak_check.hpp"

namespace corbel::alloc {

void command_leaks(const char* words, Reply& reply) {
  const bool sampled = words_after("sampled", words) != nullptr;
  if (!sampled && *words != '\0') return reply.fail("this check is not known to its Corbel");
  const LeakSink sink{&reply, [](void* place, const void* data, std::size_t size) {
                        return static_cast<Reply*>(place)->add(data, size);
                      }};
  switch (check_leaks_in_handler(reply.request(), sampled, sink)) {
    case LeakVerdict::kBusy:
      return reply.busy();
    case LeakVerdict::kNotRecording:
      return reply.fail(
          sampled ? "no block has been sampled: start it with CORBEL_LEAKS=sampled, or let "
                    "'corbel profile heap --pid' sample it for a while"
                  : "its blocks are not recorded: start it with CORBEL_LEAKS=1 to check all of "
                    "them, or with CORBEL_LEAKS=sampled to check a few at no cost");
    case LeakVerdict::kNone:
    case LeakVerdict::kSome:
    case LeakVerdict::kNotPossible:
      reply.finish();
      return;
  }
}

}  // namespace corbel::alloc
