# SPDX-License-Identifier: Apache-2.0
# gdaki_cpu_kernels(<target> <source.cu>... [OPTIONS <option>...])
# Compiles each .cu for the CPU executor through gdaki-nvcc, with the target's include folders, definitions, this build's
# warnings and sanitizers, adds the objects to the target and links libgdaki_cpu. Sources are rebuilt when a header changes.
function(gdaki_cpu_kernels target)
  cmake_parse_arguments(arg "" "" "OPTIONS" ${ARGN})
  string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}}")
  set(includes "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  foreach(source ${arg_UNPARSED_ARGUMENTS})
    get_filename_component(path "${source}" ABSOLUTE)
    string(MAKE_C_IDENTIFIER "${source}" name)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpu/${name}.o")
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpu")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND gdaki-nvcc -ccbin "${CMAKE_CXX_COMPILER}" -c "${path}" -o "${object}" -MD -MF "${object}.d" -MT "${object}"
              -std=c++17 ${flags} ${GDAKI_WARNINGS} ${GDAKI_SAN_FLAGS} ${arg_OPTIONS}
              "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
      DEPENDS "${path}" gdaki-nvcc
      DEPFILE "${object}.d"
      COMMENT "Building ${source} for the CPU executor"
      COMMAND_EXPAND_LISTS VERBATIM)
    set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${target} PRIVATE "${object}")
  endforeach()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE gdaki_cpu)
endfunction()
