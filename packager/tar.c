/* Writing and reading tar headers: see tar.h. */
#include "packager/tar.h"

#include <inttypes.h>
#include <string.h>

/* Offsets and sizes of the fields, from the standard's table. */
typedef struct field {
    int at, n;
} field;
static const field f_name = {0, 100}, f_mode = {100, 8}, f_uid = {108, 8},
                   f_gid = {116, 8}, f_size = {124, 12}, f_time = {136, 12},
                   f_sum = {148, 8}, f_type = {156, 1}, f_link = {157, 100},
                   f_magic = {257, 8}, f_user = {265, 32}, f_group = {297, 32},
                   f_major = {329, 8}, f_minor = {337, 8}, f_prefix = {345, 155};
enum { MODE = 0644, SKIP_BYTES = 4096 };

/* Octal digits and a zero byte, over the whole field. */
static void put_octal(unsigned char *block, field f, uint64_t v) {
    for (int i = f.n - 2; i >= 0; i--, v /= 8)
        block[f.at + i] = (unsigned char)('0' + v % 8);
    KILN_ASSERT(v == 0, "a number leaves its field of %d bytes", f.n);
}

static uint64_t sum_of(const unsigned char *block) {
    uint64_t sum = 0;
    for (int i = 0; i < KILN_TAR_BLOCK; i++)
        sum += i >= f_sum.at && i < f_sum.at + f_sum.n ? ' ' : block[i];
    return sum;
}

void kiln_tar_header(const kiln_tar_entry *e, unsigned char block[KILN_TAR_BLOCK]) {
    const size_t n = strlen(e->name);
    KILN_ASSERT(n < KILN_TAR_NAME && e->bytes <= KILN_TAR_MAX_NUMBER &&
                    e->time_s >= 0 && (uint64_t)e->time_s <= KILN_TAR_MAX_NUMBER,
                "'%s' does not fit a tar header", e->name);
    memset(block, 0, KILN_TAR_BLOCK);
    memcpy(block + f_name.at, e->name, n);
    put_octal(block, f_mode, MODE);
    put_octal(block, f_uid, 0);
    put_octal(block, f_gid, 0);
    put_octal(block, f_size, e->bytes);
    put_octal(block, f_time, (uint64_t)e->time_s);
    block[f_type.at] = '0';
    memcpy(block + f_magic.at,
           "ustar\0"
           "00",
           8);
    put_octal(block, f_major, 0);
    put_octal(block, f_minor, 0);
    /* Six digits, a zero byte, a blank. */
    put_octal(block, (field){f_sum.at, 7}, sum_of(block));
    block[f_sum.at + 7] = ' ';
}

size_t kiln_tar_padding(uint64_t bytes) {
    return (size_t)((KILN_TAR_BLOCK - bytes % KILN_TAR_BLOCK) % KILN_TAR_BLOCK);
}

/* ---- reading --------------------------------------------------------------------- */

static bool is_zero(const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

static bool field_is_zero(const unsigned char *block, field f) {
    return is_zero(block + f.at, (size_t)f.n);
}

static bool get_octal(const unsigned char *block, field f, uint64_t *out) {
    uint64_t v = 0;
    for (int i = 0; i < f.n - 1; i++) {
        const unsigned char c = block[f.at + i];
        if (c < '0' || c > '7')
            return false;
        v = v * 8 + (uint64_t)(c - '0');
    }
    *out = v;
    return block[f.at + f.n - 1] == '\0';
}

static const char *kind_of(unsigned char type) {
    switch (type) {
    case '1':
        return "a hard link";
    case '2':
        return "a symbolic link";
    case '3':
    case '4':
        return "a device";
    case '5':
        return "a folder";
    case '6':
        return "a fifo";
    case 'S':
        return "a sparse file";
    case 'x':
    case 'g':
        return "a pax header";
    case 'L':
    case 'K':
        return "a GNU long name";
    default:
        return "of a type that is not known";
    }
}

/* Without the text that a hostile name could carry: printable, in a buffer. */
static void show_name(const unsigned char *block, char out[KILN_TAR_NAME]) {
    int i = 0;
    for (; i < KILN_TAR_NAME - 1 && block[i] != '\0'; i++)
        out[i] = block[i] > 0x20 && block[i] < 0x7F ? (char)block[i] : '?';
    out[i] = '\0';
}

static kiln_status check_name(const unsigned char *block, const char *shown,
                              kiln_err *err) {
    const kiln_str name = kiln_str_from((const char *)block);
    const size_t room = (size_t)f_name.n;
    if (memchr(block, '\0', room) == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s': its name has no end", shown);
    if (!is_zero(block + name.n, room - name.n))
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s': a zero byte in its name",
                         shown);
    if (!field_is_zero(block, f_prefix))
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s': its name has a prefix",
                         shown);
    if (!kiln_path_is_contained(name))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "entry '%s': its path leads outside the folder", shown);
    return KILN_OK;
}

/* Why this block is no header of ours: the first reason. */
static kiln_status check_fields(const unsigned char *block, kiln_err *err) {
    char shown[KILN_TAR_NAME];
    uint64_t sum = 0, v = 0;
    unsigned char digits[8];
    memcpy(digits, block + f_sum.at, 8);
    digits[6] = '\0';
    show_name(block, shown);
    if (!get_octal(digits, (field){0, 7}, &sum) || sum != sum_of(block))
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s': its header is damaged",
                         shown);
    if (memcmp(block + f_magic.at,
               "ustar\0"
               "00",
               8) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s': its header is not ustar",
                         shown);
    if (block[f_type.at] != '0')
        return kiln_fail(err, KILN_ERR_PARSE,
                         "entry '%s' is %s; packages hold regular files only", shown,
                         kind_of(block[f_type.at]));
    KILN_TRY(check_name(block, shown, err));
    if (!get_octal(block, f_mode, &v) || v != MODE)
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s': its mode must be 0644",
                         shown);
    if (!get_octal(block, f_uid, &v) || v != 0 || !get_octal(block, f_gid, &v) ||
        v != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s': its owner must be 0", shown);
    if (!field_is_zero(block, f_user) || !field_is_zero(block, f_group))
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s': its owner must have no name",
                         shown);
    if (!get_octal(block, f_size, &v))
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s': its size is no number",
                         shown);
    if (!get_octal(block, f_time, &v))
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s': its time is no number",
                         shown);
    if (!field_is_zero(block, f_link))
        return kiln_fail(err, KILN_ERR_PARSE, "entry '%s' has the target of a link",
                         shown);
    return KILN_OK;
}

static kiln_status read_header(kiln_tar_reader *r, const unsigned char *block,
                               kiln_tar_entry *out, kiln_err *err) {
    unsigned char want[KILN_TAR_BLOCK];
    kiln_tar_entry e = {.bytes = 0};
    uint64_t time_s = 0;
    KILN_TRY(check_fields(block, err));
    memcpy(e.name, block, sizeof e.name);
    get_octal(block, f_size, &e.bytes);
    get_octal(block, f_time, &time_s);
    e.time_s = (int64_t)time_s;
    kiln_tar_header(&e, want);
    if (memcmp(want, block, sizeof want) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "entry '%s': its header is not as kiln writes it", e.name);
    if (r->n_entries > 0 && e.time_s != r->time_s)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "entry '%s': its time must be that of the first entry",
                         e.name);
    *out = e;
    return KILN_OK;
}

kiln_tar_reader kiln_tar_reader_make(kiln_tar_source source) {
    return (kiln_tar_reader){.source = source};
}

static kiln_status read_exactly(kiln_tar_reader *r, void *p, size_t n, kiln_err *err) {
    size_t got = 0;
    KILN_TRY(r->source.read(r->source.user, p, n, &got, err));
    if (got == n)
        return KILN_OK;
    if (r->n_entries == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "the archive holds no tar");
    return kiln_fail(err, KILN_ERR_PARSE, "the tar ends in or behind entry '%s'",
                     r->name);
}

kiln_status kiln_tar_read(kiln_tar_reader *r, void *p, size_t n, kiln_err *err) {
    KILN_ASSERT(n <= r->left, "%zu bytes of %" PRIu64, n, r->left);
    KILN_TRY(read_exactly(r, p, n, err));
    r->left -= n;
    return KILN_OK;
}

static kiln_status finish_entry(kiln_tar_reader *r, kiln_err *err) {
    unsigned char buffer[SKIP_BYTES];
    while (r->left > 0)
        KILN_TRY(kiln_tar_read(
            r, buffer, r->left < sizeof buffer ? (size_t)r->left : sizeof buffer, err));
    KILN_TRY(read_exactly(r, buffer, r->padding, err));
    if (!is_zero(buffer, r->padding))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "entry '%s': what follows it up to the block's end must be 0",
                         r->name);
    r->padding = 0;
    return KILN_OK;
}

/* Behind the first zero block. */
static kiln_status read_end(kiln_tar_reader *r, kiln_err *err) {
    unsigned char block[KILN_TAR_BLOCK];
    size_t got = 0;
    KILN_TRY(r->source.read(r->source.user, block, sizeof block, &got, err));
    if (got != sizeof block || !is_zero(block, sizeof block))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "the tar must end in two blocks of zeros, has one");
    KILN_TRY(r->source.read(r->source.user, block, 1, &got, err));
    if (got != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "there are bytes behind the tar's end");
    return KILN_OK;
}

kiln_status kiln_tar_next(kiln_tar_reader *r, kiln_tar_entry *out, bool *found,
                          kiln_err *err) {
    unsigned char block[KILN_TAR_BLOCK];
    kiln_tar_entry e;
    KILN_TRY(finish_entry(r, err));
    KILN_TRY(read_exactly(r, block, sizeof block, err));
    *found = !is_zero(block, sizeof block);
    if (!*found)
        return read_end(r, err);
    KILN_TRY(read_header(r, block, &e, err));
    r->left = e.bytes;
    r->padding = kiln_tar_padding(e.bytes);
    r->time_s = e.time_s;
    r->n_entries++;
    memcpy(r->name, e.name, sizeof r->name);
    *out = e;
    return KILN_OK;
}
