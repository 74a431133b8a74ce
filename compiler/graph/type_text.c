/* Types as text and back:
 * `f32[1,64,56,56]{order=0231,block=1x16,device=1,space=2,facts=tail_zero}`, only what
 * differs from the default in the braces. The grammar is in docs/graph-text.md. */
#include <inttypes.h>

#include "compiler/graph/graph_internal.h"

/* ---- printing -------------------------------------------------------------------- */

static void print_shape(kiln_buf *b, int rank, const int64_t *dim) {
    kiln_buf_puts(b, "[");
    for (int i = 0; i < rank; i++)
        kiln_buf_printf(b, "%s%" PRId64, i == 0 ? "" : ",", dim[i]);
    kiln_buf_puts(b, "]");
}

/* Starts the next part of the braces. */
static void part(kiln_buf *b, bool *is_open, const char *name) {
    kiln_buf_printf(b, "%s%s=", *is_open ? "," : "{", name);
    *is_open = true;
}

void kiln_type_print(kiln_buf *out, const kiln_type *t) {
    const kiln_layout *l = &t->layout;
    kiln_buf_puts(out, kiln_dtype_name(t->dtype));
    print_shape(out, t->rank, t->dim);
    bool is_open = false;
    kiln_layout order_only = *l;
    order_only.n_blocks = 0;
    if (!kiln_layout_is_plain(&order_only)) {
        part(out, &is_open, "order");
        for (int i = 0; i < l->n_order; i++)
            kiln_buf_printf(out, "%d", l->order[i]);
    }
    if (l->n_blocks > 0)
        part(out, &is_open, "block");
    for (int i = 0; i < l->n_blocks; i++)
        kiln_buf_printf(out, "%s%dx%" PRId32, i == 0 ? "" : ",", l->block[i].axis,
                        l->block[i].size);
    if (t->place.device != 0) {
        part(out, &is_open, "device");
        kiln_buf_printf(out, "%d", t->place.device);
    }
    if (t->place.space != 0) {
        part(out, &is_open, "space");
        kiln_buf_printf(out, "%d", t->place.space);
    }
    if ((t->facts & KILN_FACT_TAIL_ZERO) != 0) {
        part(out, &is_open, "facts");
        kiln_buf_puts(out, "tail_zero");
    }
    if (is_open)
        kiln_buf_puts(out, "}");
}

char *kiln_type_text(kiln_arena *a, const kiln_type *t) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_type_print(&b, t);
    return b.p;
}

const char *kiln_layout_name(kiln_arena *a, int rank, const kiln_layout *l) {
    static const char *const letters[KILN_MAX_RANK + 1] = {
        "", "C", "NC", "NCW", "NCHW", "NCDHW", "ABCDEF", "ABCDEFG", "ABCDEFGH"};
    static const char *const small[KILN_MAX_RANK + 1] = {
        "", "c", "nc", "ncw", "nchw", "ncdhw", "abcdef", "abcdefg", "abcdefgh"};
    kiln_buf b;
    if (rank == 0)
        return "scalar";
    kiln_buf_init(&b, a);
    for (int i = 0; i < rank; i++)
        kiln_buf_printf(&b, "%c", letters[rank][l->n_order == 0 ? i : l->order[i]]);
    for (int i = 0; i < l->n_blocks; i++)
        kiln_buf_printf(&b, "%" PRId32 "%c", l->block[i].size,
                        small[rank][l->block[i].axis]);
    return b.p;
}

char *kiln_shape_text(kiln_arena *a, int rank, const int64_t *dim) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    print_shape(&b, rank, dim);
    return b.p;
}

/* ---- parsing --------------------------------------------------------------------- */

static kiln_status expected(kiln_err *err, const char *what, kiln_str rest) {
    if (rest.n == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "expected %s, the text ends", what);
    const unsigned char c = (unsigned char)rest.p[0];
    if (c > ' ' && c < 0x7f)
        return kiln_fail(err, KILN_ERR_PARSE, "expected %s, found '%c'", what, c);
    return kiln_fail(err, KILN_ERR_PARSE, "expected %s, found byte 0x%02x", what, c);
}

static kiln_status parse_dtype(kiln_str *rest, kiln_dtype *out, kiln_err *err) {
    size_t n = 0;
    while (n < rest->n && ((rest->p[n] >= 'a' && rest->p[n] <= 'z') ||
                           (rest->p[n] >= '0' && rest->p[n] <= '9')))
        n++;
    const kiln_str word = {rest->p, n};
    if (n == 0)
        return expected(err, "a type such as f32[1,3]", *rest);
    if (!kiln_dtype_parse(word, out))
        return kiln_fail(err, KILN_ERR_PARSE, "'%.*s' is no element type",
                         kiln_str_int_len(word) > 40 ? 40 : kiln_str_int_len(word),
                         word.p);
    *rest = (kiln_str){rest->p + n, rest->n - n};
    return KILN_OK;
}

static kiln_status parse_shape(kiln_str *rest, kiln_type *t, kiln_err *err) {
    if (!kiln_text_skip(rest, "["))
        return expected(err, "'[' before the extents", *rest);
    if (kiln_text_skip(rest, "]"))
        return KILN_OK;
    do {
        int64_t d;
        if (!kiln_text_i64(rest, &d))
            return expected(err, "an extent", *rest);
        if (t->rank == KILN_MAX_RANK)
            return kiln_fail(err, KILN_ERR_LIMIT, "rank must be in [0, %d], is larger",
                             KILN_MAX_RANK);
        t->dim[t->rank++] = d;
    } while (kiln_text_skip(rest, ","));
    return kiln_text_skip(rest, "]") ? KILN_OK : expected(err, "',' or ']'", *rest);
}

static kiln_status parse_order(kiln_str *rest, kiln_layout *l, kiln_err *err) {
    l->n_order = 0;
    while (rest->n > 0 && rest->p[0] >= '0' && rest->p[0] <= '9') {
        if (l->n_order == KILN_MAX_RANK)
            return kiln_fail(err, KILN_ERR_LIMIT, "a layout orders at most %d axes",
                             KILN_MAX_RANK);
        l->order[l->n_order++] = (uint8_t)(rest->p[0] - '0');
        *rest = (kiln_str){rest->p + 1, rest->n - 1};
    }
    return l->n_order > 0 ? KILN_OK
                          : expected(err, "axis digits after 'order='", *rest);
}

/* Blocks are separated by ',' as the parts are: a digit behind it tells them apart. */
static kiln_status parse_blocks(kiln_str *rest, kiln_layout *l, kiln_err *err) {
    l->n_blocks = 0;
    for (;;) {
        uint64_t axis, size;
        if (!kiln_text_u64(rest, &axis) || axis >= KILN_MAX_RANK ||
            !kiln_text_skip(rest, "x") || !kiln_text_u64(rest, &size) ||
            size > INT32_MAX)
            return expected(err, "a block such as 1x16", *rest);
        if (l->n_blocks == KILN_MAX_BLOCKS)
            return kiln_fail(err, KILN_ERR_LIMIT, "a layout has at most %d blocks",
                             KILN_MAX_BLOCKS);
        l->block[l->n_blocks++] = (kiln_block){(uint8_t)axis, (int32_t)size};
        if (rest->n < 2 || rest->p[0] != ',' || rest->p[1] < '0' || rest->p[1] > '9')
            return KILN_OK;
        (void)kiln_text_skip(rest, ",");
    }
}

static kiln_status parse_byte(kiln_str *rest, uint8_t *out, kiln_err *err) {
    uint64_t v;
    if (!kiln_text_u64(rest, &v) || v > UINT8_MAX)
        return expected(err, "a number in [0, 255]", *rest);
    *out = (uint8_t)v;
    return KILN_OK;
}

static kiln_status parse_part(kiln_str *rest, kiln_type *t, kiln_err *err) {
    if (kiln_text_skip(rest, "order="))
        return parse_order(rest, &t->layout, err);
    if (kiln_text_skip(rest, "block="))
        return parse_blocks(rest, &t->layout, err);
    if (kiln_text_skip(rest, "device="))
        return parse_byte(rest, &t->place.device, err);
    if (kiln_text_skip(rest, "space="))
        return parse_byte(rest, &t->place.space, err);
    if (kiln_text_skip(rest, "facts=tail_zero")) {
        t->facts |= KILN_FACT_TAIL_ZERO;
        return KILN_OK;
    }
    return expected(err, "order=, block=, device=, space= or facts=tail_zero", *rest);
}

kiln_status kiln_type_parse(kiln_str *rest, kiln_type *out, kiln_err *err) {
    kiln_type t = {0};
    KILN_TRY(parse_dtype(rest, &t.dtype, err));
    KILN_TRY(parse_shape(rest, &t, err));
    if (kiln_text_skip(rest, "{")) {
        do
            KILN_TRY(parse_part(rest, &t, err));
        while (kiln_text_skip(rest, ","));
        if (!kiln_text_skip(rest, "}"))
            return expected(err, "',' or '}'", *rest);
    }
    KILN_TRY(kiln_type_check(&t, err));
    *out = t;
    return KILN_OK;
}
