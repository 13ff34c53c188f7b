# SPDX-License-Identifier: Apache-2.0
# How an allocator library is compiled and linked: without exceptions or type information, with
# everything hidden that is not said to be exported, and against libc alone.

# Compile options and include roots shared by every variant of the allocator.
function(corbel_allocator_options target)
  target_include_directories(
    ${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_BINARY_DIR}/generated"
                      "${PROJECT_SOURCE_DIR}/include")
  target_compile_options(
    ${target}
    PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>
            -fvisibility=hidden
            -ftls-model=initial-exec
            -fno-semantic-interposition
            -fno-math-errno
            # A compiler that knows what malloc means may turn its body into a call of itself.
            -fno-builtin-malloc
            -fno-builtin-calloc
            -fno-builtin-realloc
            -fno-builtin-free)
  set_target_properties(
    ${target}
    PROPERTIES POSITION_INDEPENDENT_CODE ON
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# corbel_objects(<target> [DEFINES ...] [UNITY on|off] SOURCES ...): one set of object files.
function(corbel_objects target)
  cmake_parse_arguments(arg "" "UNITY" "DEFINES;SOURCES" ${ARGN})
  add_library(${target} OBJECT ${arg_SOURCES})
  corbel_allocator_options(${target})
  target_compile_definitions(${target} PRIVATE ${arg_DEFINES})
  if(arg_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()

# corbel_shared(<target> SOVERSION n OBJECTS <object targets> [MAP file] [LIBS ...])
function(corbel_shared target)
  cmake_parse_arguments(arg "" "SOVERSION;MAP" "OBJECTS;LIBS" ${ARGN})
  set(objects "")
  foreach(object IN LISTS arg_OBJECTS)
    list(APPEND objects $<TARGET_OBJECTS:${object}>)
  endforeach()
  add_library(${target} SHARED ${objects})
  set_target_properties(
    ${target}
    PROPERTIES LINKER_LANGUAGE C # no libstdc++
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

# corbel_static(<target> NAME <library name> OBJECTS <object targets>)
function(corbel_static target)
  cmake_parse_arguments(arg "" "NAME" "OBJECTS" ${ARGN})
  set(objects "")
  foreach(object IN LISTS arg_OBJECTS)
    list(APPEND objects $<TARGET_OBJECTS:${object}>)
  endforeach()
  add_library(${target} STATIC ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_NAME} LINKER_LANGUAGE C)
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
