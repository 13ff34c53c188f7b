// SPDX-License-Identifier: Apache-2.0
#include "alloc/control/answer.hpp"

#include <atomic>

#include "alloc/control/commands.hpp"
#include "alloc/control/reply.hpp"
#include "alloc/map/policy_hooks.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

// The thread that answers a request; 0: none does. Two threads may get requests at the same time,
// and the commands share their buffers.
constinit std::atomic<std::uint32_t> answering{0};

bool begin_answer() {
  std::uint32_t other = answering.load(std::memory_order_relaxed);  // relaxed: only the number
  // In the child of a fork, the thread that answered in the parent does not exist. The forking
  // thread itself cannot have been answering: meanwhile it blocks the signals whose handlers could
  // fork.
  if (other != 0 && os::has_thread(other)) return false;
  // (1) acquire: sees what the thread before left in the buffers, published by (2). relaxed on
  // failure: another thread answers
  return answering.compare_exchange_strong(other, os::thread_id(), std::memory_order_acquire,
                                           std::memory_order_relaxed);
}

// (2) release: publishes the last use of the buffers to (1)
void end_answer() { answering.store(0, std::memory_order_release); }

}  // namespace

void answer_request(const os::Request& request) {
  os::RequestSocket socket(request.number);
  if (!socket.is_open()) return;
  Reply reply(socket, request);
  if (!begin_answer()) return reply.busy();
  char line[512];  // os/linux/request.hpp has the limit
  if (socket.read_line(line, sizeof line)) run_command(line, reply);
  end_answer();
  // Where more requests follow, they are for the helper thread (os::attend_requests).
  call_helper(MayStart::kNo);
}

}  // namespace corbel::alloc
