/* SPDX-License-Identifier: Apache-2.0 */
#include "exec_table.h"
#include "softnic/exec/order.h"

extern "C" void exec_table_run_cxx(struct exec_table_result *r)
{
    exec_table_run(r);
}
