/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the command interface says no: status and syndrome for the output mailbox, an errno for the caller, and a text
 * that names the command, the field and its value. Nothing is printed here; verbs/log.h does that once for each
 * refusal.
 */
#ifndef SOFTNIC_PRM_REFUSE_H
#define SOFTNIC_PRM_REFUSE_H

#include <stddef.h>
#include <stdint.h>

enum prm_reason { /* low byte of the syndrome; docs/softnic-devx.md lists them */
                  PRM_WHY_INPUT_LENGTH = 0x01,
                  PRM_WHY_OUTPUT_LENGTH = 0x02,
                  PRM_WHY_RESERVED = 0x03, /* a bit that is not modelled is set */
                  PRM_WHY_VALUE = 0x04,    /* a value that is not modelled */
                  PRM_WHY_RANGE = 0x05,    /* a value outside the device's limits */
                  PRM_WHY_OPCODE = 0x06,   /* unknown here, or wrong for this call or object */
                  PRM_WHY_OBJECT = 0x07,   /* no such object, or it belongs to somebody else */
                  PRM_WHY_UMEM = 0x08,     /* umem id, offset or length */
                  PRM_WHY_ALIGNMENT = 0x09,
                  PRM_WHY_STATE = 0x0a, /* QP state does not allow the command */
                  PRM_WHY_BUSY = 0x0b,
                  PRM_WHY_RESOURCES = 0x0c,
                  PRM_WHY_ENGINE = 0x0d,
};

struct prm_call {
    uint16_t opcode;
    uint8_t status;    /* enum prm_status */
    uint32_t syndrome; /* 0x5f << 24 | opcode << 8 | enum prm_reason */
    int error;         /* positive errno for the caller, 0: accepted */
    char text[256];
};

/* Fills *call and returns -EREMOTEIO, as DEVX does for a command that the firmware refused. */
int prm_refuse(struct prm_call *call, unsigned status, enum prm_reason why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for what the kernel would refuse before the firmware sees it: returns -error. */
int prm_refuse_errno(struct prm_call *call, int error, enum prm_reason why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What the engine said about its last failure on this thread if that was `error`, else the text of the errno. */
const char *prm_engine_reason(int error);

/* Translates the engine's negative errno for an attempt described by `what`. */
int prm_refuse_engine(struct prm_call *call, int error, const char *what);

/* Writes status and syndrome to an output mailbox of at least 8 bytes; shorter ones are left alone. */
void prm_write_status(const struct prm_call *call, void *out, size_t outlen);

#endif
