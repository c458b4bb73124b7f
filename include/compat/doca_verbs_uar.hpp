/* SPDX-License-Identifier: Apache-2.0 */
/* Doorbell pages for programs written against the original project's source folder: the public functions are enough. */
#ifndef DOCA_VERBS_UAR_HPP
#define DOCA_VERBS_UAR_HPP

#include "doca_internal.hpp"

#endif
