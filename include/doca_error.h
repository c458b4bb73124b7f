/* SPDX-License-Identifier: Apache-2.0 */
/* The SDK's flat spelling of host/doca_error.h. */
#include "host/doca_error.h"
