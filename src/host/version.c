/* SPDX-License-Identifier: Apache-2.0 */
/* Versions: what this library is, and which callers it serves. */
#include "host/object.h"

doca_error_t doca_gpu_verbs_get_library_version(uint32_t *version)
{
    if (version == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "asking for the library version: version is NULL");
    *version = DOCA_GPUNETIO_VERSION;
    return DOCA_SUCCESS;
}

static doca_error_t check_range(const char *what, uint32_t version, uint32_t oldest)
{
    if (version >= oldest && version <= DOCA_GPUNETIO_VERSION)
        return DOCA_SUCCESS;
    return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "%s code of version %u.%u.%u: this library serves %u.%u.%u to %u.%u.%u", what,
                    version >> 16, version >> 8 & 0xff, version & 0xff, oldest >> 16, oldest >> 8 & 0xff, oldest & 0xff,
                    DOCA_GPUNETIO_VERSION >> 16, DOCA_GPUNETIO_VERSION >> 8 & 0xff, DOCA_GPUNETIO_VERSION & 0xff);
}

doca_error_t doca_gpu_verbs_check_device_code_compatibility(uint32_t device_code_version)
{
    return check_range("device", device_code_version, DOCA_GPUNETIO_MIN_COMPAT_DEVICE_CODE_VERSION);
}

doca_error_t doca_gpu_verbs_check_host_code_compatibility(uint32_t host_code_version)
{
    return check_range("host", host_code_version, DOCA_GPUNETIO_MIN_COMPAT_HOST_CODE_VERSION);
}
