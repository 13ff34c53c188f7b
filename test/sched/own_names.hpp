// SPDX-License-Identifier: Apache-2.0
// Names that TBB had up to 2020, as global names of a program that uses the namespace tbb.
#ifndef CORBEL_TEST_SCHED_OWN_NAMES_HPP
#define CORBEL_TEST_SCHED_OWN_NAMES_HPP

#include <gtest/gtest.h>

using namespace tbb;

struct aligned_space {};
struct atomic {};
struct captured_exception {};
struct critical_section {};
struct empty_task {};
struct movable_exception {};
struct parallel_do_feeder {};
struct pipeline {};
enum priority_t { priority_low, priority_normal, priority_high };
struct reader_writer_lock {};
struct recursive_mutex {};
struct task_list {};
struct task_scheduler_init {};
struct tbb_exception {};
struct tbb_thread {};

inline int parallel_do() { return 1; }

template <typename... Types>
inline void make_each() {
  const int sizes[] = {(static_cast<void>(Types()), 1)...};
  EXPECT_EQ(sizes[0], 1);
}

inline void use_own_names() {
  make_each<aligned_space, atomic, captured_exception, critical_section, empty_task,
            movable_exception, parallel_do_feeder, pipeline, priority_t, reader_writer_lock,
            recursive_mutex, task_list, task_scheduler_init, tbb_exception, tbb_thread>();
  EXPECT_EQ(parallel_do(), 1);
  EXPECT_LT(priority_low, priority_normal);
  EXPECT_LT(priority_normal, priority_high);
}

#endif  // CORBEL_TEST_SCHED_OWN_NAMES_HPP
