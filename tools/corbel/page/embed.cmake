# SPDX-License-Identifier: Apache-2.0
# The files of pages as texts in the program.

# corbel_embed(<target> <header> <file>...): the target can include <header>, which declares each
# <file> as a std::string_view in corbel::cli::page, named after it: style.css is style_css.
function(corbel_embed target header)
  set(texts "")
  foreach(file IN LISTS ARGN)
    get_filename_component(path "${file}" ABSOLUTE)
    get_filename_component(name "${file}" NAME)
    string(MAKE_C_IDENTIFIER "${name}" name)
    file(READ "${path}" text)
    string(APPEND texts "inline constexpr std::string_view ${name} =\n    R\"~page~(${text})~page~\";\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
  endforeach()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/embedded")
  file(CONFIGURE OUTPUT "${folder}/${header}" @ONLY CONTENT "// Made by embed.cmake.
#pragma once
#include <string_view>
namespace corbel::cli::page {
@texts@}  // namespace corbel::cli::page
")
  target_include_directories(${target} PRIVATE "${folder}")
endfunction()
