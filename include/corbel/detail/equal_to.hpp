// SPDX-License-Identifier: Apache-2.0
// std::hash and std::equal_to. <functional>, which also has them, is three times as long as the
// containers that use it (see docs/decisions/0018). Not for programs to include.
#ifndef CORBEL_DETAIL_EQUAL_TO_HPP
#define CORBEL_DETAIL_EQUAL_TO_HPP

#include <memory>

#if defined(__GLIBCXX__)
#include <bits/functional_hash.h>
#include <bits/stl_function.h>
#else
#include <functional>
#endif

#endif  // CORBEL_DETAIL_EQUAL_TO_HPP
