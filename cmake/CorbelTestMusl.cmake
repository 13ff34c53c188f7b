# SPDX-License-Identifier: Apache-2.0
# What is tested on musl: what calls the C library.

# Whether a test passes is all that is asked.
add_compile_options(-g0)

set(CORBEL_CROSS_TEST_FOLDERS unit api sched)

# Tests of those folders that are left out: regular expressions.
set(CORBEL_LEFT_OUT
    "sched.sched_std_.*" # parallel algorithms of libstdc++: zig's C++ library is libc++
    "sched.sched_module_linux" # looks for a library, and static programs have none
    "api.headers") # with compilers of its own: as in the release build
