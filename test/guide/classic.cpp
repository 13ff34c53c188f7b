// SPDX-License-Identifier: Apache-2.0
// A program for TBB 2020, unchanged. docs/guide/moving.md shows it.
#include <cstdio>

// [classic]
#include <tbb/task.h>
#include <tbb/task_scheduler_init.h>

class Fibonacci : public tbb::task {
 public:
  Fibonacci(int n, long* sum) : n_(n), sum_(sum) {}

  tbb::task* execute() override {
    if (n_ < 2) {
      *sum_ = n_;
      return nullptr;
    }
    long x, y;
    set_ref_count(3);  // two children, and the wait
    spawn(*new (allocate_child()) Fibonacci(n_ - 1, &x));
    spawn_and_wait_for_all(*new (allocate_child()) Fibonacci(n_ - 2, &y));
    *sum_ = x + y;
    return nullptr;
  }

 private:
  int n_;
  long* sum_;
};

long fibonacci(int n) {
  tbb::task_scheduler_init init(4);
  long sum = 0;
  tbb::task::spawn_root_and_wait(*new (tbb::task::allocate_root()) Fibonacci(n, &sum));
  return sum;
}
// [end]

int main() {
  const long sum = fibonacci(20);
  std::printf("%ld\n", sum);
  return sum == 6765 ? 0 : 1;
}
