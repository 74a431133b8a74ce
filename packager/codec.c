/* zstd by libarchive: its `raw` format behind its zstd filter. See codec.h. */
#include "packager/codec.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>

static const char *text_of(struct archive *a) {
    const char *text = archive_error_string(a);
    return text != NULL ? text : "no reason given";
}

/* ---- writing --------------------------------------------------------------------- */

/* NULL: libarchive was built without it, and writing fails as well. */
const char *kiln_zstd_version(void) {
    const char *version = archive_libzstd_version();
    return version != NULL ? version : "none";
}

struct kiln_zstd_writer {
    struct archive *archive;
    kiln_sink sink;
    kiln_err *err; /* of the call that is running: for the sink */
    kiln_status sink_status;
    bool is_over; /* what comes now reaches no sink */
};

/* Never fails: where a client does, libarchive (3.6) loses the buffer in front of it. What
 * the sink said is looked at behind each call. */
static la_ssize_t on_write(struct archive *a, void *user, const void *p, size_t n) {
    kiln_zstd_writer *w = user;
    (void)a;
    if (w->sink_status == KILN_OK && !w->is_over)
        w->sink_status = w->sink.add(w->sink.user, p, n, w->err);
    return (la_ssize_t)n;
}

static kiln_status write_failed(kiln_zstd_writer *w, kiln_err *err) {
    if (w->sink_status != KILN_OK)
        return w->sink_status; /* its text is in the chain already */
    return kiln_fail(err, KILN_ERR_LIB, "zstd: %s", text_of(w->archive));
}

/* ARCHIVE_WARN is no success here: an option that was not taken changes the bytes. */
static bool set_up(struct archive *a) {
    char level[16];
    snprintf(level, sizeof level, "%d", KILN_ZSTD_LEVEL);
    return archive_write_set_format_raw(a) == ARCHIVE_OK &&
           archive_write_add_filter_zstd(a) == ARCHIVE_OK &&
           archive_write_set_filter_option(a, "zstd", "compression-level", level) ==
               ARCHIVE_OK &&
           /* No zeros behind the frame. */
           archive_write_set_bytes_in_last_block(a, 1) == ARCHIVE_OK;
}

static bool begin(kiln_zstd_writer *w) {
    struct archive_entry *e = archive_entry_new();
    if (e == NULL)
        return false;
    archive_entry_set_filetype(e, AE_IFREG);
    const bool ok =
        archive_write_open(w->archive, w, NULL, on_write, NULL) == ARCHIVE_OK &&
        archive_write_header(w->archive, e) == ARCHIVE_OK;
    archive_entry_free(e);
    return ok;
}

kiln_status kiln_zstd_writer_open(kiln_arena *a, kiln_sink sink, kiln_zstd_writer **out,
                                  kiln_err *err) {
    KILN_ASSERT(sink.add != NULL, "nobody takes the frame");
    kiln_zstd_writer *w = kiln_new(a, kiln_zstd_writer);
    *w = (kiln_zstd_writer){.archive = archive_write_new(), .sink = sink, .err = err};
    if (w->archive == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "zstd: libarchive has no memory");
    if (!set_up(w->archive) || !begin(w) || w->sink_status != KILN_OK) {
        const kiln_status st = write_failed(w, err);
        kiln_zstd_writer_close(w);
        return st;
    }
    *out = w;
    return KILN_OK;
}

kiln_status kiln_zstd_writer_add(kiln_zstd_writer *w, const void *p, size_t n,
                                 kiln_err *err) {
    KILN_ASSERT(w->archive != NULL && !w->is_over, "bytes come behind the frame's end");
    w->err = err;
    if (n > 0 && archive_write_data(w->archive, p, n) != (la_ssize_t)n)
        return write_failed(w, err);
    return w->sink_status;
}

kiln_status kiln_zstd_writer_finish(kiln_zstd_writer *w, kiln_err *err) {
    KILN_ASSERT(w->archive != NULL && !w->is_over, "a frame ends twice");
    w->err = err;
    return archive_write_close(w->archive) == ARCHIVE_OK ? w->sink_status
                                                         : write_failed(w, err);
}

void kiln_zstd_writer_close(kiln_zstd_writer *w) {
    if (w == NULL || w->archive == NULL)
        return;
    w->is_over = true; /* what is not finished must not reach the sink */
    archive_write_free(w->archive);
    w->archive = NULL;
}

/* ---- reading --------------------------------------------------------------------- */

struct kiln_zstd_reader {
    struct archive *archive;
};

static kiln_status read_failed(const kiln_zstd_reader *r, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_PARSE, "the archive cannot be decompressed: %s",
                     text_of(r->archive));
}

kiln_status kiln_zstd_reader_open(kiln_arena *a, kiln_str bytes, kiln_zstd_reader **out,
                                  kiln_err *err) {
    struct archive_entry *e = NULL;
    kiln_zstd_reader *r = kiln_new(a, kiln_zstd_reader);
    r->archive = archive_read_new();
    if (r->archive == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "zstd: libarchive has no memory");
    kiln_status st = KILN_OK;
    if (archive_read_support_format_raw(r->archive) != ARCHIVE_OK ||
        archive_read_support_filter_zstd(r->archive) != ARCHIVE_OK ||
        archive_read_open_memory(r->archive, bytes.p, bytes.n) != ARCHIVE_OK ||
        archive_read_next_header(r->archive, &e) != ARCHIVE_OK)
        st = read_failed(r, err);
    /* Filters are applied as long as one fits; the last to count is "none". */
    else if (archive_filter_count(r->archive) != 2)
        st = kiln_fail(err, KILN_ERR_PARSE, "the archive must be compressed once");
    if (st != KILN_OK) {
        kiln_zstd_reader_close(r);
        return st;
    }
    *out = r;
    return KILN_OK;
}

kiln_status kiln_zstd_reader_read(void *user, void *p, size_t n, size_t *got,
                                  kiln_err *err) {
    kiln_zstd_reader *r = user;
    KILN_ASSERT(r->archive != NULL, "a frame is read that was closed");
    *got = 0;
    while (*got < n) {
        const la_ssize_t done =
            archive_read_data(r->archive, (char *)p + *got, n - *got);
        if (done < 0)
            return read_failed(r, err);
        if (done == 0)
            break;
        *got += (size_t)done;
    }
    return KILN_OK;
}

void kiln_zstd_reader_close(kiln_zstd_reader *r) {
    if (r == NULL || r->archive == NULL)
        return;
    archive_read_free(r->archive);
    r->archive = NULL;
}
