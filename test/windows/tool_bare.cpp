// SPDX-License-Identifier: Apache-2.0
// A program without a C runtime: there is nothing in it to be replaced.
#include <windows.h>

extern "C" void start() { ExitProcess(5); }
