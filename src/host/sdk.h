/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DOCA SDK, found at run time in the folder that DOCA_SDK_LIB_PATH names. Six units decide independently whether the
 * SDK has what they need; a unit's outcome is kept for the life of the process.
 *
 * Creating functions ask `sdk_<unit>()`; every other function looks at its handle's tag. A handle with the SDK's tag
 * exists only if its unit was loaded, so its functions are there whatever the environment says by then.
 */
#ifndef GDAKI_HOST_SDK_H
#define GDAKI_HOST_SDK_H

#include "host/object.h"
#include "host/sdk_table.h"

#pragma GCC visibility push(hidden)

#define GDAKI_SDK_MEMBER(library, flag, ret, function, params) ret(*function) params;
struct sdk_gpu { GDAKI_SDK_GPU(GDAKI_SDK_MEMBER) };
struct sdk_dev { GDAKI_SDK_DEV(GDAKI_SDK_MEMBER) };
struct sdk_umem { GDAKI_SDK_UMEM(GDAKI_SDK_MEMBER) };
struct sdk_uar { GDAKI_SDK_UAR(GDAKI_SDK_MEMBER) };
struct sdk_cq { GDAKI_SDK_CQ(GDAKI_SDK_MEMBER) };
struct sdk_qp { GDAKI_SDK_QP(GDAKI_SDK_MEMBER) };

/* NULL: the variable is unset or empty now, or the unit could not be loaded. */
const struct sdk_gpu *sdk_gpu(void);
const struct sdk_dev *sdk_dev(void);
const struct sdk_umem *sdk_umem(void);
const struct sdk_uar *sdk_uar(void);
const struct sdk_cq *sdk_cq(void);
const struct sdk_qp *sdk_qp(void);

/* Tables for handles that carry the SDK's tag. */
extern struct sdk_gpu sdk_gpu_table;
extern struct sdk_dev sdk_dev_table;
extern struct sdk_umem sdk_umem_table;
extern struct sdk_uar sdk_uar_table;
extern struct sdk_cq sdk_cq_table;
extern struct sdk_qp sdk_qp_table;

/* UNEXPECTED (INITIALIZATION for a create) when the SDK refused; its code goes to the log only, as in 3.0. */
doca_error_t sdk_result(doca_error_t code, const char *function);
doca_error_t sdk_create_result(doca_error_t code, const char *function);

/* An operation on a handle of the SDK: SDK_CALL(qp, doca_verbs_qp_destroy, handle->sdk). */
#define SDK_CALL(unit, function, ...) sdk_result(sdk_##unit##_table.function(__VA_ARGS__), #function)

#define IS_SDK(handle) ((handle)->type == DOCA_VERBS_SDK_LIB_TYPE_SDK)

/* PD of a device of the SDK, imported context and PD for its creating functions. */
doca_error_t sdk_device_context(const doca_dev_t *net_dev, void **verbs_context);
doca_error_t sdk_device_pd(const doca_dev_t *net_dev, struct ibv_pd **pd);

#pragma GCC visibility pop
#endif
