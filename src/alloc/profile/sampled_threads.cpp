// SPDX-License-Identifier: Apache-2.0
#include "alloc/profile/sampled_threads.hpp"

#include "alloc/heap/thread.hpp"
#include "alloc/map/metadata.hpp"
#include "alloc/sample/observer.hpp"
#include "base/text.hpp"
#include "base/thread_variable.hpp"
#include "os/os.hpp"

namespace corbel::alloc {

namespace {

constinit SampledThread* all_threads = nullptr;
constinit std::uint64_t thread_count = 0;
CORBEL_THREAD_VARIABLE(SampledThread*, own_thread) = nullptr;
CORBEL_THREAD_VARIABLE(std::uint64_t, own_number) = 0;

constexpr std::size_t kMaxName = sizeof(SampledThread::name);
using Name = char[kMaxName];
CORBEL_THREAD_VARIABLE(Name, own_name){};
CORBEL_THREAD_VARIABLE(unsigned, samples_prepared) = 0;

}  // namespace

// Reading the name is a system call, and names seldom change.
void prepare_to_record() {
  constexpr unsigned kSamplesPerName = 16;
  if (samples_prepared++ % kSamplesPerName == 0) os::read_thread_name(own_name, kMaxName);
}

SampledThread* own_sampled_thread() {
  if (own_thread == nullptr) {
    if (thread_count > kMaxSampledThreads) {
      own_number = ++thread_count;
      return own_thread = all_threads;
    }
    auto* const fresh = static_cast<SampledThread*>(allocate_metadata(sizeof(SampledThread)));
    if (fresh == nullptr) return nullptr;
    fresh->id = thread_count < kMaxSampledThreads ? 1 : 0;
    fresh->next = all_threads;
    all_threads = fresh;
    own_thread = fresh;
    own_number = ++thread_count;
  }
  // Set each time: the child of a fork has another number, and threads get names after they start.
  if (own_thread->id != 0) own_thread->id = known_thread_id();
  TextInto text(own_thread->name, sizeof own_thread->name);
  text.add(own_thread->id == 0 ? "other threads" : own_name).finish();
  return own_thread;
}

std::uint64_t own_thread_number() { return own_number; }

SampledThread* first_sampled_thread() { return all_threads; }

}  // namespace corbel::alloc
