# SPDX-License-Identifier: Apache-2.0
# The corbel command, which starts programs in Wine itself.
add_executable(windows_tool_victim tool_victim.cpp)
target_link_options(windows_tool_victim PRIVATE -static)
add_executable(windows_tool_bare tool_bare.cpp)
target_link_options(windows_tool_bare PRIVATE -nostdlib LINKER:--subsystem,console
                                                     LINKER:-e,start)
target_link_libraries(windows_tool_bare PRIVATE kernel32)
set_target_properties(windows_tool_bare PROPERTIES LINKER_LANGUAGE C)
add_library(windows_tool_endless SHARED tool_endless.cpp)
set_target_properties(windows_tool_endless PROPERTIES PREFIX "")
add_executable(windows_tool_endless_user tool_endless_user.cpp)
target_link_libraries(windows_tool_endless_user PRIVATE windows_tool_endless)
target_link_options(windows_tool_endless_user PRIVATE -static)
add_dependencies(windows_tool_victim windows_tool_endless_user windows_linked_dropin windows_linked_static odd_user_aligned_malloc corbel_tool corbelmalloc_proxy)

find_package(Python3 COMPONENTS Interpreter REQUIRED)
corbel_add_script_test(
  windows.tool LABEL windows TIMEOUT 120
  COMMAND ${Python3_EXECUTABLE} -B "${CMAKE_CURRENT_SOURCE_DIR}/test_tool.py")

add_library(windows_pe_image_reader OBJECT
            "${PROJECT_SOURCE_DIR}/tools/corbel/program/windows/pe_image.cpp"
            "${PROJECT_SOURCE_DIR}/tools/corbel/text/windows/wide.cpp")
target_include_directories(windows_pe_image_reader PUBLIC "${PROJECT_SOURCE_DIR}/tools/corbel")
target_compile_definitions(windows_pe_image_reader PRIVATE NOMINMAX)
corbel_add_gtest(windows_pe_image LABEL windows SOURCES pe_image_test.cpp
                 LIBS windows_pe_image_reader)
add_dependencies(windows_pe_image odd_user_free)
