# SPDX-License-Identifier: Apache-2.0
# gdaki_dropin(<target> NAME <name> MAP <version script> [SOURCES ...] [LINK ...]): a library lib<name>.so.1 with the
# symbols and versions of a library of rdma-core.
#
# A shell: each name in the version script that is not marked "own" becomes a jump to softnic_<name> of libsoftnic, in
# assembly, because a jump needs no prototype and leaves arguments, variadic ones too, where they are. So the version
# script is the one list of what is exported, and a name that libsoftnic lacks fails at link time.
#
# The libraries lie together in <build>/softnic-libs and <libdir>/softnic, where only who asks for them finds them.
function(gdaki_dropin target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;MAP" "SOURCES;LINK")
  set(map "${CMAKE_CURRENT_SOURCE_DIR}/${arg_MAP}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${map}")
  file(STRINGS "${map}" lines REGEX "^ +[A-Za-z_0-9]+;$")
  set(jumps "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^ +([A-Za-z_0-9]+).*$" "\\1" name "${line}")
    string(APPEND jumps "JUMP(${name})\n")
  endforeach()
  set(sources ${arg_SOURCES})
  if(jumps)
    set(generated "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}_jumps.S")
    file(CONFIGURE OUTPUT "${generated}" @ONLY NEWLINE_STYLE UNIX
         CONTENT "/* Made from @arg_MAP@ by Dropin.cmake. */\n#include \"dropin/jump.h\"\n\n@jumps@\nEND_OF_JUMPS\n")
    list(APPEND sources "${generated}")
  endif()
  add_library(${target} SHARED ${sources})
  gdaki_target(${target})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${arg_NAME} SOVERSION 1 LINKER_LANGUAGE C C_VISIBILITY_PRESET hidden LINK_DEPENDS "${map}"
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/softnic-libs"
    INSTALL_RPATH "$ORIGIN:$ORIGIN/..")
  target_link_libraries(${target} PRIVATE ${arg_LINK})
  # The NIC has threads and a program's atexit handlers may still call: once loaded, it stays.
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" LINKER:-z,nodelete)
  if(NOT GDAKI_SANITIZE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/softnic)
endfunction()
