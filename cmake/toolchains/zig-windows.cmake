# SPDX-License-Identifier: Apache-2.0
# Cross compilation for 64-bit Windows; programs of the build run under Wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CORBEL_ZIG_TARGET x86_64-windows-gnu)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
set(CMAKE_CROSSCOMPILING_EMULATOR wine)
