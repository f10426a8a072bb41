# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=FILE -DEXPECTED=FILE -P check_output.cmake: runs PROGRAM, which must succeed and print exactly
# EXPECTED.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE output RESULT_VARIABLE result)
file(READ ${EXPECTED} expected)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${result}. It printed:\n${output}")
elseif(NOT output STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} printed:\n${output}\n${EXPECTED} says:\n${expected}")
endif()
