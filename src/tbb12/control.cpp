// SPDX-License-Identifier: Apache-2.0
// Settings of the process, and waiting for the end of the workers.
#include <corbel/assertion_handler.hpp>
#include <corbel/global_control.hpp>

#include <new>

#include "tbb12/layout.hpp"

namespace tbb::detail::r1 {

namespace {

struct Handle : d1::global_control {
  Handle() : d1::global_control{1, 0, corbel::global_control::scheduler_handle} {}
  corbel::task_scheduler_handle own{corbel::attach()};
};

}  // namespace

// The numbers of the parameters are Corbel's.
CORBEL_TBB12 void create(d1::global_control& c) {
  const auto parameter = static_cast<corbel::global_control::parameter>(c.parameter);
  c.own = reinterpret_cast<std::intptr_t>(new corbel::global_control(parameter, c.value));
}

CORBEL_TBB12 void destroy(d1::global_control& c) {
  delete reinterpret_cast<corbel::global_control*>(c.own);
}

CORBEL_TBB12 std::size_t global_control_active_value(int parameter) {
  return corbel::global_control::active_value(
      static_cast<corbel::global_control::parameter>(parameter));
}

CORBEL_TBB12 void get(d1::task_scheduler_handle& h) { h.control = new Handle; }

void throw_exception(d0::exception_id id);

CORBEL_TBB12 bool finalize(d1::task_scheduler_handle& h, std::intptr_t mode) {
  enum : std::intptr_t { kRelease = 0, kThrowing = 2 };
  Handle* const handle = static_cast<Handle*>(h.control);
  if (handle == nullptr) {
    corbel::detail::assertion_failed("finalize", __LINE__, "handle", "the handle is empty");
  }
  h.control = nullptr;
  const bool has_ended = mode == kRelease || corbel::finalize(handle->own, std::nothrow);
  delete handle;
  if (!has_ended && mode == kThrowing) throw_exception(d0::exception_id::unsafe_wait);
  return has_ended;
}

}  // namespace tbb::detail::r1
