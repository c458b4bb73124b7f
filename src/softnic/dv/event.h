/* SPDX-License-Identifier: Apache-2.0 */
/* DEVX event channels: what a closing context left behind. Port lock held. */
#ifndef SOFTNIC_DV_EVENT_H
#define SOFTNIC_DV_EVENT_H

struct sv_context;

void sv_dv_channels_release(struct sv_context *ctx);

#endif
