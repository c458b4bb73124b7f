/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the user. Nothing is said on success unless SOFTNIC_LOG asks for it. */
#ifndef SOFTNIC_VERBS_LOG_H
#define SOFTNIC_VERBS_LOG_H

enum sv_level { SV_LOG_OFF = 0, SV_LOG_ERROR, SV_LOG_WARN, SV_LOG_INFO, SV_LOG_DEBUG };

/* To stderr with the prefix "softnic:"; one write per line, so that threads and processes do not mix. */
void sv_log(enum sv_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * A refusal: sets errno and this thread's last-error text, logs it at SV_LOG_ERROR, and counts it. Returns `error`
 * (positive), so that a call that returns errno values can `return sv_refuse(...)`.
 */
int sv_refuse(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for what clients probe on purpose: logged at SV_LOG_INFO only. */
int sv_refuse_quietly(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Parses a level name; -1 if unknown. */
int sv_log_level(const char *name);
void sv_log_set_level(enum sv_level level);

unsigned long long sv_log_refused(void); /* refusals so far */

#endif
