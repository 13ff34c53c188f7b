# SPDX-License-Identifier: Apache-2.0
# How a library is compiled and linked: with everything hidden that is not said to be exported. The
# allocator's have neither exceptions nor type information and need libc alone; with CXX_RUNTIME a
# library has both, and needs libstdc++.

# Compile options and include roots shared by all libraries.
function(corbel_library_options target)
  target_include_directories(
    ${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/generated"
                      "${PROJECT_SOURCE_DIR}/include")
  target_compile_options(
    ${target}
    PRIVATE -fvisibility=hidden
            -ftls-model=initial-exec
            -fno-math-errno)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND (WIN32 OR CORBEL_LIBC STREQUAL "musl"))
    # The page map is a large constant array; zig's clang keeps frame pointers.
    target_compile_options(${target} PRIVATE -fconstexpr-steps=100000000 -fsized-deallocation
                                             -fomit-frame-pointer)
  endif()
  if(NOT WIN32)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What the library refers to is in itself, but for functions: its variables need no pointers to
    # them. gcc warns that attributes for ELF have no effect.
    target_compile_options(${target} PRIVATE -mcmodel=small -Wno-attributes)
  endif()
  set_target_properties(
    ${target}
    PROPERTIES POSITION_INDEPENDENT_CODE ON
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# corbel_objects(<target> [CXX_RUNTIME] [DEFINES ...] [UNITY on|off] SOURCES ...): one set of object
# files.
function(corbel_objects target)
  cmake_parse_arguments(arg "CXX_RUNTIME" "UNITY" "DEFINES;SOURCES" ${ARGN})
  add_library(${target} OBJECT ${arg_SOURCES})
  corbel_library_options(${target})
  if(WIN32 AND arg_CXX_RUNTIME AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The C++ library's variables may lie anywhere.
    target_compile_options(${target} PRIVATE -mcmodel=medium)
  endif()
  if(NOT arg_CXX_RUNTIME)
    target_compile_options(
      ${target}
      PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>
              # A compiler that knows what malloc means may turn its body into a call of itself.
              -fno-builtin-malloc
              -fno-builtin-calloc
              -fno-builtin-realloc
              -fno-builtin-free
              # A failed assertion of a header would call libstdc++.
              -U_GLIBCXX_ASSERTIONS)
  endif()
  target_compile_definitions(${target} PRIVATE ${arg_DEFINES})
  if(WIN32) # by corbel_group_sources()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  endif()
  if(arg_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()

# The C driver adds no libstdc++.
function(corbel_link_language result cxx_runtime)
  if(cxx_runtime)
    set(${result} CXX PARENT_SCOPE)
  else()
    set(${result} C PARENT_SCOPE)
  endif()
endfunction()

# corbel_shared(<target> [CXX_RUNTIME] [NAME <library name>] SOVERSION n OBJECTS <object targets>
#               [MAP file] [LIBS ...])
function(corbel_shared target)
  cmake_parse_arguments(arg "CXX_RUNTIME" "NAME;SOVERSION;MAP" "OBJECTS;LIBS" ${ARGN})
  if(NOT arg_NAME)
    set(arg_NAME ${target})
  endif()
  set(objects "")
  foreach(object IN LISTS arg_OBJECTS)
    list(APPEND objects $<TARGET_OBJECTS:${object}>)
  endforeach()
  if(WIN32 AND NOT arg_CXX_RUNTIME)
    list(APPEND objects $<TARGET_OBJECTS:corbel_no_crt>)
  endif()
  add_library(${target} SHARED ${objects})
  corbel_link_language(language ${arg_CXX_RUNTIME})
  set_target_properties(
    ${target}
    PROPERTIES OUTPUT_NAME ${arg_NAME}
               LINKER_LANGUAGE ${language}
               SOVERSION ${arg_SOVERSION}
               VERSION ${arg_SOVERSION}
               BUILD_WITH_INSTALL_RPATH ON
               INSTALL_RPATH "$ORIGIN")
  if(WIN32)
    if(arg_MAP MATCHES "[.]def$")
      set(def "${arg_MAP}")
    else()
      corbel_def_file(def ${target} "${arg_CXX_RUNTIME}" lib${arg_NAME}.so.${arg_SOVERSION})
    endif()
    corbel_dll(${target} "${arg_CXX_RUNTIME}" "${def}")
    target_link_libraries(${target} PRIVATE ${arg_LIBS})
    corbel_public_includes(${target})
    return()
  endif()
  target_link_options(${target} PRIVATE LINKER:-z,nodelete LINKER:-z,relro LINKER:-z,now)
  if(NOT CORBEL_SANITIZE) # whose symbols are left to the program
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  if(arg_MAP AND EXISTS "${arg_MAP}")
    target_link_options(${target} PRIVATE "LINKER:--version-script,${arg_MAP}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${arg_MAP}")
  elseif(arg_MAP)
    message(STATUS "Corbel: ${target} is linked without ${arg_MAP}, which does not exist")
  endif()
  target_link_libraries(${target} PRIVATE ${arg_LIBS})
  corbel_public_includes(${target})
endfunction()

# A .def file with the names that the library <abi> exports on Linux (scripts/abi).
function(corbel_def_file result target cxx_runtime abi)
  set(abi_file "${PROJECT_SOURCE_DIR}/scripts/abi/${abi}.txt")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${abi_file}")
  file(STRINGS "${abi_file}" lines REGEX "^function [^ ]+$")
  set(text "EXPORTS\n")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^function ([^@]+).*" "\\1" name "${line}")
    # For Corbel's libraries on Linux alone; or exported by the source.
    if(name MATCHES "^_ZN6corbel" OR (cxx_runtime AND name MATCHES "^_Z"))
      continue()
    endif()
    # size_t and intptr_t are long long, not long.
    if(name MATCHES "^(_ZN?.*[^m])(m+)$")
      string(REPLACE m y sizes "${CMAKE_MATCH_2}")
      set(name "${CMAKE_MATCH_1}${sizes}")
    endif()
    string(REGEX REPLACE "^(_ZN3rml.*E)lP" "\\1xP" name "${name}")
    string(APPEND text "  ${name}\n")
  endforeach()
  # The scheduler finds it by a name that is the same for each compiler (src/os/optional.hpp).
  if(abi MATCHES "malloc\\.so")
    string(APPEND text "  corbel_provide_task_figures = "
                       "_ZN6corbel5alloc20provide_task_figuresEPFyPcyE\n")
  endif()
  set(def "${CMAKE_CURRENT_BINARY_DIR}/${target}.def")
  file(GENERATE OUTPUT "${def}" CONTENT "${text}")
  set(${result} "${def}" PARENT_SCOPE)
endfunction()

# What is different about a shared library on Windows: it exports what the file <def> lists. With
# CXX_RUNTIME those are the names of C, and the source says what C++ names there are besides.
# Without, it has no C runtime either.
function(corbel_dll target cxx_runtime def)
  set_target_properties(${target} PROPERTIES PREFIX "")
  target_sources(${target} PRIVATE "${def}")
  if(cxx_runtime)
    return()
  endif()
  target_link_options(${target} PRIVATE -nostdlib LINKER:-e,DllMainCRTStartup)
  target_link_libraries(${target} PRIVATE corbel_ntdll kernel32)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_link_libraries(${target} PRIVATE gcc)
  endif()
endfunction()

# corbel_static(<target> [CXX_RUNTIME] NAME <library name> OBJECTS <object targets> [LIBS ...])
function(corbel_static target)
  cmake_parse_arguments(arg "CXX_RUNTIME" "NAME" "OBJECTS;LIBS" ${ARGN})
  set(objects "")
  foreach(object IN LISTS arg_OBJECTS)
    list(APPEND objects $<TARGET_OBJECTS:${object}>)
  endforeach()
  add_library(${target} STATIC ${objects})
  corbel_link_language(language ${arg_CXX_RUNTIME})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_NAME} LINKER_LANGUAGE ${language})
  target_link_libraries(${target} PRIVATE ${arg_LIBS})
  # The index of the unwind tables, without which call stacks are only found by frame pointers.
  # Compilers ask for it themselves, but not where the whole program is static.
  if(NOT WIN32)
    target_link_options(${target} INTERFACE LINKER:--eh-frame-hdr)
  endif()
  corbel_public_includes(${target})
endfunction()

function(corbel_public_includes target)
  target_include_directories(
    ${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# Keeps the library in programs that call nothing of it themselves, wherever it stands on the
# command line: a static one would be skipped, a shared one dropped by --as-needed (the default of
# some distributions). <namespace> is that of the installed target.
function(corbel_replaces_malloc target namespace)
  if(WIN32)
    target_link_options(${target} INTERFACE LINKER:-u,__TBB_malloc_proxy)
    return()
  endif()
  target_link_options(${target} INTERFACE LINKER:--undefined=malloc)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    # One word, so that CMake neither splits it at a space of the path nor takes parts of it for
    # duplicates of another library's.
    set(built "--push-state,--no-as-needed,$<TARGET_FILE:${target}>,--pop-state")
    set(installed "--push-state,--no-as-needed,$<TARGET_FILE:${namespace}${target}>,--pop-state")
    target_link_options(${target} INTERFACE "$<BUILD_INTERFACE:LINKER:${built}>"
                                            "$<INSTALL_INTERFACE:LINKER:${installed}>")
  endif()
endfunction()
