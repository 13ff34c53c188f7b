/* SPDX-License-Identifier: Apache-2.0
   The version of the TBB interface that the library found at run time follows; the macros of
   <oneapi/tbb/version.h> say what the program was compiled with. Both may be called at any time,
   from any thread, and are in libcorbel. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* TBB_VERSION_STRING of the library, for instance "2022.0.0"; a constant string. */
const char* TBB_runtime_version(void);

/* TBB_INTERFACE_VERSION of the library. */
int TBB_runtime_interface_version(void);

#ifdef __cplusplus
}
#endif
