# SPDX-License-Identifier: Apache-2.0
# Compares what PROGRAM prints with the file EXPECTED.
execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE printed RESULT_VARIABLE result)
file(READ "${EXPECTED}" expected)
if(NOT printed STREQUAL expected)
  message("${printed}")
  message(FATAL_ERROR "differs from ${EXPECTED}; record.sh shows how to compare the logs line by line")
endif()
if(NOT result EQUAL 0)
  message(FATAL_ERROR "memory is leaked: ${result}")
endif()
