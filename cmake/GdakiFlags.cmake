# SPDX-License-Identifier: Apache-2.0
# One place for warnings and sanitizers. gdaki_target(<target>) applies them.
set(GDAKI_WARNINGS -Wall -Wextra)
if(GDAKI_WERROR)
  list(APPEND GDAKI_WARNINGS -Werror)
endif()

set(GDAKI_SAN_FLAGS "")
if(GDAKI_SANITIZE)
  set(GDAKI_SAN_FLAGS -fsanitize=${GDAKI_SANITIZE} -fno-omit-frame-pointer)
  if(GDAKI_SANITIZE MATCHES "undefined")
    list(APPEND GDAKI_SAN_FLAGS -fno-sanitize-recover=undefined)
  endif()
  add_compile_options(${GDAKI_SAN_FLAGS})
  add_link_options(${GDAKI_SAN_FLAGS})
endif()

if(GDAKI_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "GDAKI_FUZZ=ON needs clang (libFuzzer): configure with CC=clang CXX=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

function(gdaki_target target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:${GDAKI_WARNINGS}>
                                           $<$<COMPILE_LANGUAGE:CXX>:${GDAKI_WARNINGS}>)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
endfunction()

# gdaki_test(<target or name> [COMMAND <command>...]): a test under CTest by the tree's rules. Exit code 77 is a skip
# (print "SKIP: reason" first); a hang is ended after five minutes, under an emulator, which is many times slower, after twenty.
function(gdaki_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND")
  if(NOT arg_COMMAND)
    set(arg_COMMAND ${name})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(CMAKE_CROSSCOMPILING)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 4")
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT})
endfunction()
