# SPDX-License-Identifier: Apache-2.0
# Cross compilation with clang and the libraries of the target as PyPI's ziglang brings them: what the
# toolchains zig-*.cmake share, which set CORBEL_ZIG_TARGET. CORBEL_ZIG is the command that starts zig;
# by default it is that of the environment, which ./dev sets, or else the ziglang of python3.
set(zig "python3 -m ziglang")
if(DEFINED ENV{CORBEL_ZIG})
  set(zig "$ENV{CORBEL_ZIG}")
endif()
set(CORBEL_ZIG "${zig}" CACHE STRING "The command that starts zig")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CORBEL_ZIG CORBEL_ZIG_TOOLS)

# zig checks for undefined behaviour where it does not optimise.
set(CORBEL_ZIG_OPTIONS "-fno-sanitize=undefined")

# CMake wants each tool to be one file.
if(NOT CORBEL_ZIG_TOOLS)
  set(CORBEL_ZIG_TOOLS "${CMAKE_BINARY_DIR}/zig")
  foreach(tool IN ITEMS cc c++)
    file(CONFIGURE OUTPUT "${CORBEL_ZIG_TOOLS}/${tool}" @ONLY
         CONTENT "#!/bin/sh\nexec @CORBEL_ZIG@ @tool@ -target @CORBEL_ZIG_TARGET@ @CORBEL_ZIG_OPTIONS@ \"$@\"\n")
  endforeach()
  foreach(tool IN ITEMS ar ranlib dlltool rc)
    file(CONFIGURE OUTPUT "${CORBEL_ZIG_TOOLS}/${tool}" @ONLY
         CONTENT "#!/bin/sh\nexec @CORBEL_ZIG@ @tool@ \"$@\"\n")
  endforeach()
  foreach(tool IN ITEMS cc c++ ar ranlib dlltool rc)
    file(CHMOD "${CORBEL_ZIG_TOOLS}/${tool}"
         PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE)
  endforeach()
endif()

# ccache takes the scripts for a compiler that it does not know, and for another one in each folder:
# it is told what they stand for.
foreach(language IN ITEMS C CXX)
  if("$ENV{CMAKE_${language}_COMPILER_LAUNCHER}" MATCHES "ccache$" AND NOT CORBEL_ZIG_VERSION)
    separate_arguments(command UNIX_COMMAND "${CORBEL_ZIG} version")
    execute_process(COMMAND ${command} OUTPUT_VARIABLE CORBEL_ZIG_VERSION
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(CORBEL_ZIG_VERSION "${CORBEL_ZIG_VERSION}" CACHE INTERNAL "")
  endif()
  if("$ENV{CMAKE_${language}_COMPILER_LAUNCHER}" MATCHES "ccache$")
    set(CMAKE_${language}_COMPILER_LAUNCHER
        env CCACHE_COMPILERTYPE=clang "CCACHE_COMPILERCHECK=string:zig ${CORBEL_ZIG_VERSION} ${CORBEL_ZIG_TARGET} ${CORBEL_ZIG_OPTIONS}"
        "$ENV{CMAKE_${language}_COMPILER_LAUNCHER}" CACHE STRING "")
  endif()
endforeach()

set(CMAKE_C_COMPILER "${CORBEL_ZIG_TOOLS}/cc")
set(CMAKE_CXX_COMPILER "${CORBEL_ZIG_TOOLS}/c++")
set(CMAKE_AR "${CORBEL_ZIG_TOOLS}/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${CORBEL_ZIG_TOOLS}/ranlib" CACHE FILEPATH "")
set(CMAKE_DLLTOOL "${CORBEL_ZIG_TOOLS}/dlltool" CACHE FILEPATH "")
set(CMAKE_RC_COMPILER "${CORBEL_ZIG_TOOLS}/rc")

set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE NEVER)
