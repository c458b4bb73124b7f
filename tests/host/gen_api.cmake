# SPDX-License-Identifier: Apache-2.0
# cmake -DLIST=api.list -DAPI=3 -DOUT=file -P gen_api.cmake: one pointer of the exact type for each host function of the
# generation. A prototype that differs does not compile; a function that is missing does not link.
file(STRINGS "${LIST}" lines)
set(pointers "")
set(rows "")
set(count 0)
foreach(line IN LISTS lines)
  if(line MATCHES "^#" OR NOT line MATCHES "^([0-9*]+) \\| (.*)$")
    continue()
  endif()
  set(generations "${CMAKE_MATCH_1}")
  set(prototype "${CMAKE_MATCH_2}")
  # "2" stands for both older spellings where the 1.x prototype is the same.
  if(generations STREQUAL "2")
    set(generations "12")
  endif()
  if(NOT generations STREQUAL "*" AND NOT generations MATCHES "${API}")
    continue()
  endif()
  string(REGEX MATCH "(doca_[a-z0-9_]+)\\(" unused "${prototype}")
  set(name "${CMAKE_MATCH_1}")
  string(REPLACE "${name}(" "(*pointer_${count})(" pointer "${prototype}")
  string(APPEND pointers "static ${pointer} = ${name};\n")
  string(APPEND rows "    {\"${name}\", (void (*)(void))pointer_${count}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE "${OUT}" "/* SPDX-License-Identifier: Apache-2.0 */
/* Generated from api.list for API ${API}. */
#define DOCA_GPUNETIO_API ${API}
#include <stdio.h>
#include \"doca_gpunetio_host.h\"

${pointers}
int main(void)
{
    const struct {
        const char *name;
        void (*function)(void);
    } table[] = {
${rows}    };
    int missing = 0;

    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].function == NULL) {
            printf(\"%s is missing\\n\", table[i].name);
            missing++;
        }
    }
    printf(\"API ${API}: %u functions\\n\", (unsigned)(sizeof(table) / sizeof(table[0])));
    return missing != 0 || sizeof(table) / sizeof(table[0]) != ${EXPECTED};
}
")
