// SPDX-License-Identifier: Apache-2.0
#include "sched/pool/figures.hpp"

#include <algorithm>
#include <cstddef>

#include "base/task_figures.hpp"
#include "base/text.hpp"
#include "os/os.hpp"
#include "sched/core/thread_records.hpp"
#include "sched/core/width.hpp"
#include "sched/pool/thread_pool.hpp"

namespace corbel {
namespace alloc {

// Null without the allocator: decided once, when the library is loaded.
__attribute__((weak)) void provide_task_figures(TaskFigures figures) noexcept;

}  // namespace alloc

namespace sched {
namespace {

// Nothing is counted for it but the thefts.
std::size_t write_figures(char* buffer, std::size_t capacity) {
  ThreadPool::Figures figures;
  if (!thread_pool.figures_in_handler(&figures)) return 0;
  // A worker may begin to search, or end, between the reading of the two.
  const unsigned searching = std::min(figures.searching, figures.active);
  TextInto text(buffer, capacity);
  text.add("{\"thread_limit\":").add_decimal(thread_limit());
  text.add(",\"workers\":").add_decimal(figures.workers);
  text.add(",\"busy\":").add_decimal(figures.active - searching);
  text.add(",\"searching\":").add_decimal(searching);
  text.add(",\"stolen\":").add_decimal(stolen_tasks());
  const std::size_t size = text.add("}").finish();
  return size < capacity ? size : 0;
}

}  // namespace

void provide_figures() {
  if (const auto provide =
          CORBEL_FIND_AS(alloc::provide_task_figures, corbel_provide_task_figures)) {
    provide(write_figures);
  }
}

}  // namespace sched
}  // namespace corbel
