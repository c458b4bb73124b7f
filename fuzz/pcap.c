/* SPDX-License-Identifier: Apache-2.0 */
/* Capture files from elsewhere: the reader, and the frames in them. */
#include <string.h>

#include "rig.h"
#include "softnic/wire/frame.h"
#include "softnic/wire/pcap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_pcap_reader *reader;
    struct sn_pcap_record r;
    const char *why = NULL;
    size_t total = 0;
    int rc = sn_pcap_open_bytes(data, size, &reader, &why);

    if (rc != 0) {
        FUZZ_CHECK(rc < 0 && why != NULL && *why != '\0', "refused with %d and no reason", rc);
        return 0;
    }
    while ((rc = sn_pcap_next(reader, &r, &why)) == 1) {
        struct sn_burst packet;
        struct sn_frame_path path;
        memset(&packet, 0, sizeof(packet));
        total += r.captured;
        FUZZ_CHECK(total <= size, "%zu bytes of frames in %zu bytes of file", total, size);
        (void)sn_frame_parse(r.frame, r.captured, sn_pcap_layer(reader), true, &packet, &path);
    }
    FUZZ_CHECK(rc == 0 || (why != NULL && *why != '\0'), "ends with %d and no reason", rc);
    sn_pcap_reader_close(reader);
    return 0;
}
