/* SPDX-License-Identifier: Apache-2.0
   The version of the TBB interface that the library found at run time implements; the macros of
   <oneapi/tbb/version.h> are those of the headers the program was compiled with. Both functions are
   in libcorbel; any thread may call them at any time. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Returns TBB_VERSION_STRING of the library, for instance "2023.2.0"; a constant string. */
const char* TBB_runtime_version(void);

/* Returns TBB_INTERFACE_VERSION of the library. */
int TBB_runtime_interface_version(void);

#ifdef __cplusplus
}
#endif
