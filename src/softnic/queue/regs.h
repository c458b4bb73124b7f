/* SPDX-License-Identifier: Apache-2.0 */
/* Where doorbell registers lie. Under the port's lock. */
#ifndef SOFTNIC_QUEUE_REGS_H
#define SOFTNIC_QUEUE_REGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_nic;
struct sn_uar_object;

enum { SN_REG_GROUP = 8 /* cache lines of registers that are looked at together */ };

/* Gives the UAR its two registers: a line each, or words of shared lines. 0 or -errno. */
int sn_regs_place(struct sn_nic *nic, struct sn_uar_object *uar, bool packed);
void sn_regs_remove(struct sn_uar_object *uar);
void sn_regs_free(struct sn_nic *nic);

/* A queue without a record begins (+1) or ends (-1) on this UAR: only then is that register looked at. */
void sn_regs_recordless(struct sn_uar_object *uar, int change);
bool sn_regs_any_recordless(const struct sn_uar_object *uar); /* here, or near enough: what it holds is taken */

/* The UAR whose plain register lies at this one's reg ^ 0x100, or NULL. */
struct sn_uar_object *sn_regs_partner(const struct sn_uar_object *uar);

/* Looks at group `n` of sn_regs.groups; what it holds is taken. Returns lines looked at, and adds doorbells to *taken. */
unsigned sn_regs_look(struct sn_nic *nic, uint32_t n, unsigned *taken);

#endif
