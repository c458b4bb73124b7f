/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a failed call attempted, on which object, with which value. One per thread; the last failure stays until the next.
 * Functions return the negative errno; whoever meets the user turns the record into a sentence.
 */
#ifndef SOFTNIC_ERRORS_H
#define SOFTNIC_ERRORS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sn_err {
    int code;             /* negative errno; 0: no failure yet */
    const char *attempt;  /* "create a CQ"; static text */
    const char *object;   /* "cq"; static text, may be NULL */
    uint64_t id;          /* of the object */
    const char *reason;   /* "log_size beyond 22"; static text */
    uint64_t value;       /* the offending one */
};

/* Records and returns `code`. Texts must be static. */
int sn_fail(int code, const char *attempt, const char *object, uint64_t id, const char *reason, uint64_t value);
const struct sn_err *sn_err_last(void);
/* "create a CQ: cq 0x12: log_size beyond 22 (value 0x1f): Invalid argument". Returns what snprintf returns. */
int sn_err_format(const struct sn_err *err, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
