# SPDX-License-Identifier: Apache-2.0
# What many projects' own FindTBB modules have in common: they look for tbb/tbb.h and lib<name>.so,
# read the version from tbb_stddef.h, and set variables.
find_path(TBB_INCLUDE_DIR tbb/tbb.h)
find_library(TBB_LIBRARY tbb)
find_library(TBB_MALLOC_LIBRARY tbbmalloc)
find_library(TBB_DEBUG_LIBRARY tbb_debug)
if(TBB_INCLUDE_DIR)
  file(READ "${TBB_INCLUDE_DIR}/tbb/tbb_stddef.h" text)
  foreach(name IN ITEMS VERSION_MAJOR VERSION_MINOR INTERFACE_VERSION)
    if(text MATCHES "#define TBB_${name} ([0-9]+)")
      set(TBB_${name} "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  set(TBB_VERSION "${TBB_VERSION_MAJOR}.${TBB_VERSION_MINOR}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TBB REQUIRED_VARS TBB_LIBRARY TBB_MALLOC_LIBRARY TBB_INCLUDE_DIR
                                                    TBB_INTERFACE_VERSION
                                  VERSION_VAR TBB_VERSION)
set(TBB_INCLUDE_DIRS "${TBB_INCLUDE_DIR}")
set(TBB_LIBRARIES optimized "${TBB_LIBRARY}" debug "${TBB_LIBRARY}" "${TBB_MALLOC_LIBRARY}")
