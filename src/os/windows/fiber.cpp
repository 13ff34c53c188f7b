// SPDX-License-Identifier: Apache-2.0
// There are no fibers yet: each is incomplete, as where there is no memory for one.
#include "os/os.hpp"

namespace corbel::os {

Fiber::Fiber() = default;
Fiber::Fiber(std::size_t, void (*)(void*), void*) {}
Fiber::~Fiber() = default;
StackRange Fiber::stack() const { return {}; }
void Fiber::take_signal_mask() {}
void Fiber::switch_to(Fiber&) { abort(); }

}  // namespace corbel::os
