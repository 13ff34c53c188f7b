# SPDX-License-Identifier: Apache-2.0
# Cross compilation for 64-bit ARM with Debian's and Ubuntu's g++-aarch64-linux-gnu; programs of
# the build run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

if(NOT CMAKE_C_COMPILER)
  # Ubuntu 22.04's default cross compiler is older than Corbel needs; its gcc-12 is not.
  find_program(CMAKE_C_COMPILER NAMES aarch64-linux-gnu-gcc-12 aarch64-linux-gnu-gcc REQUIRED)
  find_program(CMAKE_CXX_COMPILER NAMES aarch64-linux-gnu-g++-12 aarch64-linux-gnu-g++ REQUIRED)
endif()

set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# A processor without SVE: qemu (7.2 for one) takes the old range of an mremap with
# MREMAP_DONTUNMAP for unmapped, and its SVE stores, unlike plain ones, go by that record.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu cortex-a72 -L /usr/aarch64-linux-gnu)
