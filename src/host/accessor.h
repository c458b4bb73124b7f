/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setters and getters of attribute objects, which are many and alike. A setter checks the handle, hands the value to the
 * DOCA SDK when the object is the SDK's, and otherwise checks and stores it.
 */
#ifndef GDAKI_HOST_ACCESSOR_H
#define GDAKI_HOST_ACCESSOR_H

#include "host/sdk.h"

#define CHECK_HANDLE(handle, what)                                                                                     \
    do {                                                                                                               \
        if ((handle) == NULL || (handle)->open == NULL)                                                                \
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: the object is NULL", what);                                 \
    } while (0)

/* An object that `handle` will refer to must be there and be of the same maker. */
#define CHECK_SAME_MAKER(handle, argument, what)                                                                       \
    do {                                                                                                               \
        CHECK_HANDLE(handle, what);                                                                                    \
        if ((argument) == NULL || (argument)->open == NULL)                                                            \
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: the argument is NULL", what);                               \
        if ((argument)->type != (handle)->type)                                                                        \
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: one object is the DOCA SDK's, one is not", what);           \
    } while (0)

/* DEFINE_SETTER(qp, doca_verbs_qp_attr_set_rq_psn, doca_verbs_qp_attr_t, uint32_t, rq_psn, condition that must hold) */
#define DEFINE_SETTER(unit, function, handle_type, value_type, field, valid)                                           \
    doca_error_t function(handle_type *attr, value_type value)                                                         \
    {                                                                                                                  \
        CHECK_HANDLE(attr, #function);                                                                                 \
        if (!(valid))                                                                                                  \
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: value %lld is out of range", #function, (long long)value);  \
        if (IS_SDK(attr))                                                                                              \
            return SDK_CALL(unit, function, attr->sdk, value);                                                         \
        attr->open->field = value;                                                                                     \
        return DOCA_SUCCESS;                                                                                           \
    }

/* Reads a field; `absent` for NULL and for the SDK's objects, which cannot be asked. */
#define DEFINE_GETTER(function, handle_type, value_type, field, absent)                                                \
    value_type function(const handle_type *attr)                                                                       \
    {                                                                                                                  \
        if (attr == NULL || IS_SDK(attr) || attr->open == NULL)                                                        \
            return absent;                                                                                             \
        return attr->open->field;                                                                                      \
    }

/* DEFINE_CREATE(qp, doca_verbs_qp_attr_create, doca_verbs_qp_attr_t) and its destroy. */
#define DEFINE_CREATE(unit, function, handle_type)                                                                     \
    doca_error_t function(handle_type **out)                                                                           \
    {                                                                                                                  \
        const struct sdk_##unit *sdk;                                                                                  \
        handle_type *handle;                                                                                           \
        doca_error_t err = DOCA_SUCCESS;                                                                               \
                                                                                                                       \
        if (out == NULL)                                                                                               \
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: the result pointer is NULL", #function);                    \
        handle = calloc(1, sizeof(*handle));                                                                           \
        if (handle == NULL)                                                                                            \
            return HOST_ERR(DOCA_ERROR_NO_MEMORY, "%s: no memory", #function);                                         \
        sdk = sdk_##unit();                                                                                            \
        if (sdk != NULL) {                                                                                             \
            handle->type = DOCA_VERBS_SDK_LIB_TYPE_SDK;                                                                \
            err = sdk_create_result(sdk->function(&handle->sdk), #function);                                           \
        } else {                                                                                                       \
            handle->open = calloc(1, sizeof(*handle->open));                                                           \
            if (handle->open == NULL)                                                                                  \
                err = HOST_ERR(DOCA_ERROR_NO_MEMORY, "%s: no memory", #function);                                      \
        }                                                                                                              \
        if (err != DOCA_SUCCESS)                                                                                       \
            free(handle);                                                                                              \
        else                                                                                                           \
            *out = handle;                                                                                             \
        return err;                                                                                                    \
    }

#define DEFINE_DESTROY(unit, function, handle_type)                                                                    \
    doca_error_t function(handle_type *handle)                                                                         \
    {                                                                                                                  \
        CHECK_HANDLE(handle, #function);                                                                               \
        if (IS_SDK(handle)) {                                                                                          \
            doca_error_t err = SDK_CALL(unit, function, handle->sdk);                                                  \
                                                                                                                       \
            if (err != DOCA_SUCCESS)                                                                                   \
                return err;                                                                                            \
        } else {                                                                                                       \
            free(handle->open);                                                                                        \
        }                                                                                                              \
        free(handle);                                                                                                  \
        return DOCA_SUCCESS;                                                                                           \
    }

#endif
