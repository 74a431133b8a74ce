/* numpy's .npy files, versions 1 to 3: a magic string, a header that is a Python
 * dictionary, the elements. Source: numpy.lib.format, "Format Version 1.0 / 2.0 / 3.0".
 */
#include "compiler/frontend/frontend.h"

#include <inttypes.h>
#include <string.h>

enum { MAGIC_BYTES = 6, HEAD_ALIGN = 64, MAX_HEADER_BYTES = 64 * 1024 };

static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";

typedef struct header {
    kiln_type type;
    bool is_fortran;
    bool has_descr, has_order, has_shape;
} header;

/* ---- the header's dictionary ----------------------------------------------------- */

static void skip_blanks(kiln_str *s) {
    while (s->n > 0 && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t')) {
        s->p++;
        s->n--;
    }
}

static bool take_char(kiln_str *s, char c) {
    skip_blanks(s);
    if (s->n == 0 || *s->p != c)
        return false;
    s->p++;
    s->n--;
    return true;
}

static bool take_quoted(kiln_str *s, kiln_str *out) {
    skip_blanks(s);
    if (s->n == 0 || (*s->p != '\'' && *s->p != '"'))
        return false;
    const char quote = *s->p;
    const char *const end = memchr(s->p + 1, quote, s->n - 1);
    if (end == NULL)
        return false;
    *out = (kiln_str){s->p + 1, (size_t)(end - s->p - 1)};
    s->n -= (size_t)(end + 1 - s->p);
    s->p = end + 1;
    return true;
}

static bool take_word(kiln_str *s, const char *word) {
    skip_blanks(s);
    if (!kiln_str_starts(*s, word))
        return false;
    s->p += strlen(word);
    s->n -= strlen(word);
    return true;
}

static bool take_number(kiln_str *s, int64_t *out) {
    skip_blanks(s);
    size_t n = 0;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    if (!kiln_parse_i64((kiln_str){s->p, n}, out))
        return false;
    s->p += n;
    s->n -= n;
    if (s->n > 0 && *s->p == 'L') { /* written by Python 2 */
        s->p++;
        s->n--;
    }
    return true;
}

static kiln_status read_descr(kiln_str text, kiln_dtype *out, kiln_err *err) {
    /* One byte has no byte order: "|i1", "|b1". '=' and '>' are other machines'. */
    for (int d = 0; d < KILN_N_DTYPES; d++) {
        /* Low-bit types are bytes to numpy: who reads them knows what they are. */
        const char *const name = kiln_dtype_is_in((kiln_dtype)d, KILN_DT_LOW)
                                     ? NULL
                                     : kiln_dtype_get((kiln_dtype)d)->numpy;
        if (name == NULL || text.n < 2 || !kiln_str_is(text, name)) {
            const bool same_kind = name != NULL && text.n == strlen(name) &&
                                   text.n > 1 &&
                                   memcmp(text.p + 1, name + 1, text.n - 1) == 0;
            const bool any_order = kiln_dtype_bytes((kiln_dtype)d) == 1;
            if (!same_kind || !any_order)
                continue;
        }
        *out = (kiln_dtype)d;
        return KILN_OK;
    }
    /* What numpy's extension types for machine learning call bfloat16: two bytes of no
     * kind. Whoever wants another type refuses it. */
    if (kiln_str_is(text, "<V2") || kiln_str_is(text, "|V2")) {
        *out = KILN_BF16;
        return KILN_OK;
    }
    return kiln_fail(
        err, KILN_ERR_UNSUPPORTED,
        "npy: element type '%.*s' is not read; save little-endian floats of "
        "16 to 64 bits, integers or bool",
        KILN_STR_ARG(text));
}

static bool read_shape(kiln_str *s, int64_t *dim, int *rank) {
    *rank = 0;
    if (!take_char(s, '('))
        return false;
    while (!take_char(s, ')')) {
        if (*rank == KILN_MAX_RANK || !take_number(s, &dim[*rank]))
            return false;
        (*rank)++;
        if (!take_char(s, ',')) {
            if (!take_char(s, ')'))
                return false;
            break;
        }
    }
    return true;
}

static kiln_status read_entry(kiln_str *s, header *h, kiln_err *err) {
    kiln_str key, text;
    if (!take_quoted(s, &key) || !take_char(s, ':'))
        return kiln_fail(err, KILN_ERR_PARSE, "npy: the header is no dictionary");
    if (kiln_str_is(key, "descr")) {
        if (!take_quoted(s, &text))
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "npy: structured element types are not read");
        h->has_descr = true;
        return read_descr(text, &h->type.dtype, err);
    }
    if (kiln_str_is(key, "fortran_order")) {
        h->has_order = true;
        h->is_fortran = take_word(s, "True");
        if (h->is_fortran || take_word(s, "False"))
            return KILN_OK;
        return kiln_fail(err, KILN_ERR_PARSE,
                         "npy: fortran_order must be True or False");
    }
    if (kiln_str_is(key, "shape")) {
        h->has_shape = true;
        if (read_shape(s, h->type.dim, &h->type.rank))
            return KILN_OK;
        return kiln_fail(err, KILN_ERR_PARSE,
                         "npy: shape must be a tuple of at most %d numbers",
                         KILN_MAX_RANK);
    }
    return kiln_fail(err, KILN_ERR_PARSE, "npy: unknown header entry '%.*s'",
                     KILN_STR_ARG(key));
}

static kiln_status read_header(kiln_str text, header *h, kiln_err *err) {
    if (!take_char(&text, '{'))
        return kiln_fail(err, KILN_ERR_PARSE, "npy: the header is no dictionary");
    while (!take_char(&text, '}')) {
        KILN_TRY(read_entry(&text, h, err));
        if (!take_char(&text, ',')) {
            if (!take_char(&text, '}'))
                return kiln_fail(err, KILN_ERR_PARSE, "npy: the header is cut off");
            break;
        }
    }
    skip_blanks(&text);
    if (text.n > 0 || !h->has_descr || !h->has_order || !h->has_shape)
        return kiln_fail(
            err, KILN_ERR_PARSE,
            "npy: the header must hold descr, fortran_order and shape, and "
            "nothing else");
    h->type = kiln_type_make(h->type.dtype, h->type.rank, h->type.dim);
    return kiln_type_check(&h->type, err);
}

/* ---- elements -------------------------------------------------------------------- */

/* Splits a file into header text and elements. */
static kiln_status split(kiln_str file, kiln_str *text, kiln_str *data, kiln_err *err) {
    const unsigned char *const p = (const unsigned char *)file.p;
    if (file.n < MAGIC_BYTES + 4 || memcmp(p, magic, MAGIC_BYTES) != 0)
        return kiln_fail(
            err, KILN_ERR_PARSE,
            "npy: the file must begin with the magic string of .npy files");
    const unsigned version = p[MAGIC_BYTES];
    if (version < 1 || version > 3)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "npy: version must be 1 to 3, is %u", version);
    const size_t len_bytes = version == 1 ? 2 : 4, start = MAGIC_BYTES + 2 + len_bytes;
    size_t len = 0;
    if (file.n < start)
        return kiln_fail(err, KILN_ERR_PARSE, "npy: the header is cut off");
    for (size_t i = 0; i < len_bytes; i++)
        len |= (size_t)p[MAGIC_BYTES + 2 + i] << (8 * i);
    if (len > MAX_HEADER_BYTES || len > file.n - start)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "npy: the header must have at most %d bytes and lie in the "
                         "file, has %zu",
                         (int)MAX_HEADER_BYTES, len);
    *text = (kiln_str){file.p + start, len};
    *data = (kiln_str){file.p + start + len, file.n - start - len};
    return KILN_OK;
}

/* Column-major elements to row-major ones. */
static void reorder(const kiln_type *t, const char *from, char *to) {
    const size_t size = kiln_dtype_bytes(t->dtype);
    const int64_t n = kiln_type_elems(t);
    int64_t coord[KILN_MAX_RANK] = {0};
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (int k = t->rank - 1; k >= 0; k--)
            at = at * t->dim[k] + coord[k];
        memcpy(to + (size_t)i * size, from + (size_t)at * size, size);
        for (int k = t->rank - 1; k >= 0; k--) {
            if (++coord[k] < t->dim[k])
                break;
            coord[k] = 0;
        }
    }
}

static void fix_bools(kiln_tensor *t) {
    unsigned char *const p = t->data;
    for (int64_t i = 0; i < kiln_type_elems(&t->type); i++)
        p[i] = p[i] != 0;
}

kiln_status kiln_tensor_decode_npy(kiln_arena *a, kiln_str file, kiln_tensor *out,
                                   kiln_err *err) {
    kiln_str text = {0}, data = {0};
    header h = {0};
    KILN_TRY(split(file, &text, &data, err));
    KILN_TRY(read_header(text, &h, err));
    const size_t need = (size_t)kiln_type_bytes(&h.type);
    if (data.n != need)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "npy: %s needs %zu bytes behind the header, the file has %zu",
                         kiln_type_text(a, &h.type), need, data.n);
    kiln_tensor t = kiln_tensor_new(a, &h.type);
    if (h.is_fortran)
        reorder(&h.type, data.p, t.data);
    else if (need > 0)
        memcpy(t.data, data.p, need);
    if (h.type.dtype == KILN_BOOL)
        fix_bools(&t);
    *out = t;
    return KILN_OK;
}

kiln_status kiln_tensor_read_npy(kiln_arena *a, const char *path, kiln_tensor *out,
                                 kiln_err *err) {
    kiln_str file;
    KILN_TRY(kiln_file_map(a, path, 0, &file, err));
    const kiln_status st = kiln_tensor_decode_npy(a, file, out, err);
    if (st != KILN_OK)
        kiln_note(err, "reading '%s'", path);
    return st;
}

kiln_status kiln_tensor_write_npy(const char *path, const kiln_tensor *t,
                                  kiln_err *err) {
    const char *const descr = kiln_dtype_get(t->type.dtype)->numpy;
    if (descr == NULL || !kiln_layout_is_plain(&t->type.layout))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "npy: %s tensors cannot be written; convert to f32 first",
                         kiln_dtype_name(t->type.dtype));
    kiln_arena scratch = {0};
    kiln_buf b;
    kiln_buf_init(&b, &scratch);
    kiln_buf_printf(&b, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < t->type.rank; i++)
        kiln_buf_printf(&b, "%s%" PRId64 "%s", i == 0 ? "" : " ", t->type.dim[i],
                        i + 1 < t->type.rank || t->type.rank == 1 ? "," : "");
    kiln_buf_puts(&b, "), }");
    const size_t head = MAGIC_BYTES + 4;
    while ((head + b.n + 1) % HEAD_ALIGN != 0)
        kiln_buf_puts(&b, " ");
    kiln_buf_puts(&b, "\n");
    unsigned char start[MAGIC_BYTES + 4] = {0};
    memcpy(start, magic, MAGIC_BYTES);
    start[MAGIC_BYTES] = 1; /* version 1.0: at most 8 numbers fit its 64 KiB */
    start[MAGIC_BYTES + 2] = (unsigned char)(b.n & 0xff);
    start[MAGIC_BYTES + 3] = (unsigned char)(b.n >> 8);
    kiln_file_writer *w = NULL;
    kiln_status st = kiln_file_writer_open(&w, path, err);
    if (st == KILN_OK)
        st = kiln_file_writer_add(w, start, sizeof start, err);
    if (st == KILN_OK)
        st = kiln_file_writer_add(w, b.p, b.n, err);
    if (st == KILN_OK)
        st = kiln_file_writer_add(w, t->data, (size_t)kiln_type_bytes(&t->type), err);
    if (st == KILN_OK)
        st = kiln_file_writer_commit(w, err);
    else
        kiln_file_writer_close(w);
    kiln_arena_fini(&scratch);
    return st;
}
