/* SPDX-License-Identifier: Apache-2.0 */
/* DMA-BUFs exported before libsoftnic is loaded are known to it afterwards. */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/dmabuf_notes.h"

enum { BYTES = 65536 };

/* Stands in for a DMA-BUF: what matters is that it is the same file. */
static int export(void)
{
    int fd = memfd_create("dmabuf", MFD_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static struct {
    ino_t inode;
    void *base;
    size_t size;
    int notes;
} told;

static int record_note(int fd, void *base, size_t size)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    told.inode = st.st_ino;
    told.base = base;
    told.size = size;
    told.notes++;
    return 0;
}

static void kept_until_it_is_there(void **state)
{
    struct gdaki_nic_ops later = {.dmabuf_note = record_note};
    char first[16], second[16];
    struct stat st;
    int fd = export();

    (void)state;
    assert_int_equal(fstat(fd, &st), 0);
    dmabuf_notes_add(fd, first, sizeof(first));
    close(fd); /* the caller's own */
    fd = export();
    dmabuf_notes_add(fd, second, sizeof(second));
    close(fd);
    dmabuf_notes_forget(second); /* freed meanwhile */
    dmabuf_notes_hand_over(&later);
    assert_int_equal(told.notes, 1);
    assert_int_equal(told.inode, st.st_ino);
    assert_ptr_equal(told.base, first);
    assert_int_equal(told.size, sizeof(first));
    dmabuf_notes_hand_over(&later);
    assert_int_equal(told.notes, 1);
}

/* The library itself: a region registered by a descriptor that was exported first. */
static void softnic_registers_it(void **state)
{
    const char *why = NULL;
    void *memory = NULL;
    int fd = export(), count = 0;
    const struct gdaki_nic_ops *nic;
    struct ibv_device **list;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;

    (void)state;
    assert_int_equal(posix_memalign(&memory, 4096, BYTES), 0);
    assert_null(nic_softnic_if_loaded());
    dmabuf_notes_add(fd, memory, BYTES);
    nic = nic_current(&why);
    if (nic == NULL)
        fail_msg("no softnic: %s", why);
    list = nic->ibv_get_device_list(&count);
    assert_true(list != NULL && count > 0);
    context = nic->ibv_open_device(list[0]);
    assert_non_null(context);
    pd = nic->ibv_alloc_pd(context);
    assert_non_null(pd);
    mr = nic->ibv_reg_dmabuf_mr(pd, 0, BYTES, (uintptr_t)memory, fd, IBV_ACCESS_LOCAL_WRITE);
    assert_non_null(mr);
    assert_int_equal(nic->ibv_dereg_mr(mr), 0);
    assert_int_equal(nic->ibv_dealloc_pd(pd), 0);
    assert_int_equal(nic->ibv_close_device(context), 0);
    nic->ibv_free_device_list(list);
    dmabuf_notes_forget(memory);
    close(fd);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kept_until_it_is_there), cmocka_unit_test(softnic_registers_it)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
