/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "info.h"

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value ? value : "";
}

static void print_choices(const json_t *choices, FILE *out)
{
    const char *key;
    json_t *choice;

    fprintf(out, "In use:\n");
    json_object_foreach((json_t *)choices, key, choice) {
        const char *why = text(choice, "why");

        fprintf(out, "  %-14s %s%s%s%s\n", key, text(choice, "name"), *why ? " (" : "", why, *why ? ")" : "");
    }
}

/* A scalar as a user reads it. */
static void print_value(const json_t *value, FILE *out)
{
    if (json_is_string(value))
        fputs(json_string_value(value), out);
    else if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "yes" : "no", out);
}

static void print_list(const json_t *list, FILE *out)
{
    size_t index;
    json_t *item;

    json_array_foreach(list, index, item) {
        if (index)
            fputs(", ", out);
        print_value(item, out);
    }
}

static void print_devices(const char *title, const json_t *devices, FILE *out)
{
    size_t index;
    json_t *device;

    fprintf(out, "%s:%s\n", title, json_array_size(devices) ? "" : " none");
    json_array_foreach(devices, index, device) {
        const char *key;
        json_t *value;

        fprintf(out, "  %s\n", text(device, "name"));
        json_object_foreach(device, key, value) {
            if (!strcmp(key, "name"))
                continue;
            fprintf(out, "    %-26s ", key);
            if (json_is_array(value))
                print_list(value, out);
            else
                print_value(value, out);
            fputc('\n', out);
        }
    }
}

static void print_doorbells(const json_t *modes, FILE *out)
{
    size_t index;
    json_t *mode;

    fprintf(out, "Doorbell modes (tried on the first NIC):\n");
    json_array_foreach(modes, index, mode) {
        bool usable = json_is_true(json_object_get(mode, "usable"));

        fprintf(out, "  %-14s %s%s%s\n", text(mode, "mode"), usable ? "usable" : "no: ",
                usable && *text(mode, "detail") ? ", " : "", text(mode, "detail"));
    }
}

static void print_environment(const json_t *variables, FILE *out)
{
    size_t index;
    json_t *variable;

    fprintf(out, "Environment variables (value, or default in brackets):\n");
    json_array_foreach(variables, index, variable) {
        const json_t *value = json_object_get(variable, "value");

        if (json_is_string(value))
            fprintf(out, "  %s=%s\n", text(variable, "name"), json_string_value(value));
        else
            fprintf(out, "  %s [%s]\n", text(variable, "name"), text(variable, "default"));
        fprintf(out, "      %s\n", text(variable, "help"));
    }
}

void info_print(const json_t *root, FILE *out)
{
    if (json_object_get(root, "choices")) {
        print_choices(json_object_get(root, "choices"), out);
        print_devices("GPUs", json_object_get(root, "gpus"), out);
        print_devices("NICs", json_object_get(root, "nics"), out);
        print_doorbells(json_object_get(root, "doorbells"), out);
    }
    print_environment(json_object_get(root, "environment"), out);
}
