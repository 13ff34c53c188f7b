# SPDX-License-Identifier: Apache-2.0
# Compilation for 64-bit Linux with musl instead of glibc. The programs are static, so that they run
# where there is no musl.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CORBEL_LIBC musl)
set(CORBEL_ZIG_TARGET x86_64-linux-musl)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
