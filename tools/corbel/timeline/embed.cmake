# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=HEADER "-DFILES=a.html;b.js" -P embed.cmake: a header with the texts of the files.
set(text "// Made from the files of the pages.\n#pragma once\n\n#include <string_view>\n\n")
string(APPEND text "namespace corbel::cli::page_files {\n\n")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  string(MAKE_C_IDENTIFIER "${name}" name)
  file(READ "${file}" content)
  string(APPEND text "inline constexpr std::string_view ${name} = R\"corbelpage(${content})corbelpage\";\n")
endforeach()
string(APPEND text "\n}  // namespace corbel::cli::page_files\n")
file(WRITE "${OUTPUT}" "${text}")
