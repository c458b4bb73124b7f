/* SPDX-License-Identifier: Apache-2.0 */
/* The SDK's flat spelling of host/doca_verbs.h. */
#include "host/doca_verbs.h"
