// SPDX-License-Identifier: Apache-2.0
// The files that take the output of a command which is measured. Their numbers are those of the C
// library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace corbel::cli {

// A new empty file that goes with its last number; -1: there cannot be one. `name` is what a look
// into the process shows.
int open_unnamed(const char* name);
// Whatever is written to it is gone.
int open_null();
void close_file(int file);
void empty_file(int file);
std::uint64_t file_size(int file);
// Copies up to `size` bytes from `at`; returns how many, 0 at the end and on an error.
std::size_t read_at(int file, char* to, std::size_t size, std::uint64_t at);

}  // namespace corbel::cli
