# SPDX-License-Identifier: Apache-2.0
# Compares what PROGRAM, run by EMULATOR if that is set, prints with the file EXPECTED.
execute_process(COMMAND ${EMULATOR} "${PROGRAM}" OUTPUT_VARIABLE printed RESULT_VARIABLE result)
string(REPLACE "\r\n" "\n" printed "${printed}")
file(READ "${EXPECTED}" expected)
if(NOT printed STREQUAL expected)
  message("${printed}")
  message(FATAL_ERROR "differs from ${EXPECTED}; record.sh shows how to compare the logs line by line")
endif()
if(NOT result EQUAL 0)
  message(FATAL_ERROR "memory is leaked: ${result}")
endif()
