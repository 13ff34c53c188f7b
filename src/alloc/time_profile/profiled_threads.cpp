// SPDX-License-Identifier: Apache-2.0
#include "alloc/time_profile/profiled_threads.hpp"

#include <new>

#include "alloc/map/metadata.hpp"

namespace corbel::alloc {

namespace {

constexpr std::uint32_t kInBlock = 1024;
constexpr std::uint32_t kMaxBlocks = os::kMaxSampleNumber / kInBlock;

// (1) release, (2) acquire: a block's zeroed records
constinit std::atomic<ProfiledTask*> task_blocks[kMaxBlocks]{};
constinit std::uint32_t tasks_end = 1;
constinit std::uint32_t first_spare_task = 0;

}  // namespace

ProfiledTask* task_at(std::uint32_t number) {
  if (number == 0 || number >= os::kMaxSampleNumber) return nullptr;
  ProfiledTask* const block =
      task_blocks[number / kInBlock].load(std::memory_order_acquire);  // (2)
  return block == nullptr ? nullptr : &block[number % kInBlock];
}

std::uint32_t make_task() {
  std::uint32_t number = first_spare_task;
  if (number != 0) {
    first_spare_task = task_at(number)->next;
  } else {
    if (tasks_end == os::kMaxSampleNumber) return 0;
    if (task_blocks[tasks_end / kInBlock].load(std::memory_order_relaxed) ==
        nullptr) {  // relaxed: own store
      auto* const block =
          static_cast<ProfiledTask*>(allocate_metadata(kInBlock * sizeof(ProfiledTask)));
      if (block == nullptr) return 0;
      task_blocks[tasks_end / kInBlock].store(block, std::memory_order_release);  // (1)
    }
    number = tasks_end++;
  }
  new (task_at(number)) ProfiledTask{};
  return number;
}

void forget_task(std::uint32_t number) {
  task_at(number)->next = first_spare_task;
  first_spare_task = number;
}

std::uint32_t end_of_tasks() { return tasks_end; }

}  // namespace corbel::alloc
