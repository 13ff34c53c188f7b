// SPDX-License-Identifier: Apache-2.0
// Part of the contract with the operating system (os.hpp): the end of the process.
#pragma once

namespace corbel::os {

// Whether the system has ended all threads of the process but the calling one, wherever they were,
// and with the locks that they held. That is so on Windows, where the last thread then calls what
// the libraries have to do at the end of the process.
#if defined(_WIN32)
bool other_threads_are_gone();
#else
inline bool other_threads_are_gone() { return false; }
#endif

}  // namespace corbel::os
