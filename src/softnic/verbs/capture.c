/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/verbs/capture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "softnic/verbs/log.h"
#include "softnic/wire/capture.h"

enum { NAME_BYTES = 4096 };

/* Under the registry's lock, like the port. */
static char configured[NAME_BYTES], actual[NAME_BYTES];
static struct sn_capture *capture;

int sv_capture_configure(const char *path)
{
    if (strlen(path) >= NAME_BYTES - 16) /* room for a number */
        return -sv_refuse(ENAMETOOLONG, "SOFTNIC_PCAP: a file name of %zu bytes", strlen(path));
    strcpy(configured, path);
    return 0;
}

int sv_capture_start(struct sn_port *port)
{
    int rc;
    capture = NULL;
    if (!configured[0])
        return 0;
    rc = sn_capture_start(port, configured, actual, sizeof(actual), &capture);
    if (rc)
        return -sv_refuse(-rc, "SOFTNIC_PCAP=%s: cannot capture into it: %s", configured, strerror(-rc));
    if (strcmp(configured, actual))
        sv_log(SV_LOG_WARN, "SOFTNIC_PCAP=%s: another process captures into it; this one's packets go to %s", configured,
               actual);
    else
        sv_log(SV_LOG_INFO, "packets are captured into %s", actual);
    return 0;
}

void sv_capture_stop(void)
{
    int rc = sn_capture_stop(capture);
    if (rc)
        sv_log(SV_LOG_ERROR, "the capture in %s is not complete: %s", actual, strerror(-rc));
    capture = NULL;
}
