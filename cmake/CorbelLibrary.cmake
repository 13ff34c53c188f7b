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
            -fno-semantic-interposition
            -fno-math-errno)
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
  target_link_options(${target} INTERFACE LINKER:--eh-frame-hdr)
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
