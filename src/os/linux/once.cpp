// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <type_traits>

#include "os/os.hpp"

namespace corbel::os {

static_assert(std::is_same_v<pthread_once_t, int> && PTHREAD_ONCE_INIT == 0);

void OnceCall::run(void (*function)()) { pthread_once(&state_, function); }

}  // namespace corbel::os
