/* Flatbuffers by tables: see flatbuffers.h. Source: FlatBuffers, "Internals".
 *
 * A table lies at a position p: a signed offset back to its virtual table, then its
 * fields. The virtual table has its own size, the table's, and for each slot where in
 * the table the field lies (0: left out), all of 16 bits. Whatever is not a number is
 * an unsigned offset of 32 bits, forwards from where it stands. */
#include "compiler/frontend/flatbuffers.h"

#include <string.h>

enum { OFFSET = 4, SLOT = 2, VTABLE_HEAD = 2 * SLOT, FILE_HEAD = 8 };

/* Tables may be shared: a vector may name one a million times, and each gets a struct.
 */
static const uint64_t budget_base = (uint64_t)64 << 20;
static const uint64_t budget_per_byte = 16;

/* One table: its bytes and its virtual table's, both checked. */
typedef struct view {
    const kiln_fb_table *t;
    size_t at, bytes; /* of the table */
    size_t vtable, vtable_bytes;
} view;

kiln_fb kiln_fb_begin(kiln_arena *a, kiln_str bytes, kiln_err *err) {
    KILN_ASSERT(err != NULL, "a file is read with nowhere to complain");
    return (kiln_fb){.arena = a,
                     .bytes = bytes,
                     .budget = budget_base + budget_per_byte * (uint64_t)bytes.n,
                     .err = err};
}

/* Little-endian, wherever it lies; the caller has checked that it is there. */
static uint64_t load(const kiln_fb *fb, size_t at, size_t bytes) {
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)(unsigned char)fb->bytes.p[at + i] << (8 * i);
    return v;
}

/* Are there n bytes from `at` on? */
static bool has(const kiln_fb *fb, size_t at, uint64_t n) {
    return at <= fb->bytes.n && n <= fb->bytes.n - at;
}

static kiln_status refuse(const kiln_fb *fb, const kiln_fb_table *t,
                          const kiln_fb_field *f, size_t at, const char *what) {
    return kiln_fail(fb->err, KILN_ERR_PARSE,
                     "flatbuffers: %s%s%s%s at byte %zu: %s (is the file truncated or "
                     "damaged?)",
                     t->name, f == NULL ? "" : ", field '", f == NULL ? "" : f->name,
                     f == NULL ? "" : "'", at, what);
}

static kiln_status open_table(const kiln_fb *fb, const kiln_fb_table *t, size_t at,
                              view *v) {
    *v = (view){.t = t, .at = at};
    if (!has(fb, at, OFFSET))
        return refuse(fb, t, NULL, at, "the table lies past the end of the file");
    const int64_t back = (int32_t)(uint32_t)load(fb, at, OFFSET);
    const int64_t vtable = (int64_t)at - back;
    if (vtable < 0 || !has(fb, (size_t)vtable, VTABLE_HEAD))
        return refuse(fb, t, NULL, at, "the virtual table lies outside of the file");
    v->vtable = (size_t)vtable;
    v->vtable_bytes = (size_t)load(fb, v->vtable, SLOT);
    v->bytes = (size_t)load(fb, v->vtable + SLOT, SLOT);
    if (v->vtable_bytes < VTABLE_HEAD || v->vtable_bytes % SLOT != 0 ||
        !has(fb, v->vtable, v->vtable_bytes))
        return refuse(fb, t, NULL, v->vtable, "the virtual table has no such size");
    if (v->bytes < OFFSET || !has(fb, at, v->bytes))
        return refuse(fb, t, NULL, at, "the table passes the end of the file");
    return KILN_OK;
}

static size_t width_of(kiln_fb_kind kind) {
    switch (kind) {
    case KILN_FB_BOOL:
    case KILN_FB_I8:
    case KILN_FB_U8:
        return 1;
    case KILN_FB_I64:
    case KILN_FB_U64:
        return 8;
    case KILN_FB_I32:
    case KILN_FB_U32:
    case KILN_FB_F32:
    case KILN_FB_STRING:
    case KILN_FB_BYTES:
    case KILN_FB_U16S:
    case KILN_FB_I32S:
    case KILN_FB_F32S:
    case KILN_FB_I64S:
    case KILN_FB_REF:
    case KILN_FB_TABLE:
    case KILN_FB_TABLES:
        return 4;
    }
    return 4;
}

/* Where a field lies; 0: left out. */
static kiln_status find(const kiln_fb *fb, const view *v, const kiln_fb_field *f,
                        size_t *at) {
    const size_t entry = VTABLE_HEAD + (size_t)f->slot * SLOT;
    *at = 0;
    if (entry + SLOT > v->vtable_bytes)
        return KILN_OK;
    const size_t inside = (size_t)load(fb, v->vtable + entry, SLOT);
    if (inside == 0)
        return KILN_OK;
    if (inside < OFFSET || inside + width_of(f->kind) > v->bytes)
        return refuse(fb, v->t, f, v->vtable + entry,
                      "the field lies outside of the table");
    *at = v->at + inside;
    return KILN_OK;
}

/* What the offset at `at` leads to: at least a number of 32 bits. */
static kiln_status follow(const kiln_fb *fb, const kiln_fb_table *t,
                          const kiln_fb_field *f, size_t at, size_t *to) {
    const uint64_t offset = load(fb, at, OFFSET);
    if (offset < OFFSET || !has(fb, at, offset + OFFSET))
        return refuse(fb, t, f, at, "the offset leads out of the file");
    *to = at + (size_t)offset;
    return KILN_OK;
}

/* A vector's elements: a count, then so many of `size` bytes. */
static kiln_status vector(const kiln_fb *fb, const kiln_fb_table *t,
                          const kiln_fb_field *f, size_t at, size_t size, size_t *first,
                          size_t *n) {
    KILN_TRY(follow(fb, t, f, at, &at));
    const uint64_t count = load(fb, at, OFFSET);
    if (!has(fb, at + OFFSET, count * size))
        return refuse(fb, t, f, at, "the elements pass the end of the file");
    *first = at + OFFSET;
    *n = (size_t)count;
    return KILN_OK;
}

static kiln_status spend(kiln_fb *fb, const kiln_fb_table *t, const kiln_fb_field *f,
                         size_t at, size_t n, size_t size) {
    if (size != 0 && n > fb->budget / size)
        return kiln_fail(fb->err, KILN_ERR_LIMIT,
                         "flatbuffers: %s, field '%s' at byte %zu: %zu elements need "
                         "more memory than such a file may ask for (64 MiB + 16 times "
                         "its size)",
                         t->name, f->name, at, n);
    fb->budget -= (uint64_t)n * size;
    return KILN_OK;
}

/* ---- values ------------------------------------------------------------------------ */

static int64_t sign_extend(uint64_t v, size_t bytes) {
    const unsigned bits = (unsigned)bytes * 8;
    const uint64_t top = UINT64_C(1) << (bits - 1);
    return bits == 64 ? (int64_t)v : (int64_t)((v ^ top) - top);
}

static double to_f32(uint64_t v) {
    const uint32_t bits = (uint32_t)v;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static bool is_little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* Numbers as they lie, where they lie aligned; else a copy. */
static kiln_status numbers(kiln_fb *fb, const view *v, const kiln_fb_field *f,
                           size_t at, size_t size, char *out) {
    size_t first, n;
    KILN_TRY(vector(fb, v->t, f, at, size, &first, &n));
    const void *p = fb->bytes.p + first;
    if (!is_little_endian() || (uintptr_t)p % size != 0) {
        KILN_TRY(spend(fb, v->t, f, at, n, size));
        char *const copy = kiln_arena_array(fb->arena, n, size);
        for (size_t i = 0; i < n; i++) {
            const uint64_t v64 = load(fb, first + i * size, size);
            const uint32_t v32 = (uint32_t)v64;
            const uint16_t v16 = (uint16_t)v64;
            memcpy(copy + i * size,
                   size == 8   ? (const void *)&v64
                   : size == 4 ? (const void *)&v32
                               : &v16,
                   size);
        }
        p = copy;
    }
    memcpy(out + f->offset, &p, sizeof p);
    memcpy(out + f->also, &n, sizeof n);
    return KILN_OK;
}

static kiln_status text(const kiln_fb *fb, const view *v, const kiln_fb_field *f,
                        size_t at, char *out) {
    size_t first, n;
    KILN_TRY(vector(fb, v->t, f, at, 1, &first, &n));
    const kiln_str s = {fb->bytes.p + first, n};
    memcpy(out + f->offset, &s, sizeof s);
    return KILN_OK;
}

/* ---- tables ------------------------------------------------------------------------ */

static kiln_status read_table(kiln_fb *fb, const kiln_fb_table *t, size_t at, char *out,
                              int depth);

static kiln_status one_table(kiln_fb *fb, const view *v, const kiln_fb_field *f,
                             size_t at, char *out, int depth) {
    size_t to;
    KILN_TRY(follow(fb, v->t, f, at, &to));
    KILN_TRY(spend(fb, v->t, f, at, 1, f->sub->size));
    void *const sub = kiln_arena_alloc(fb->arena, f->sub->size);
    memcpy(out + f->offset, &sub, sizeof sub);
    return read_table(fb, f->sub, to, sub, depth + 1);
}

static kiln_status many_tables(kiln_fb *fb, const view *v, const kiln_fb_field *f,
                               size_t at, char *out, int depth) {
    size_t first, n;
    KILN_TRY(vector(fb, v->t, f, at, OFFSET, &first, &n));
    KILN_TRY(spend(fb, v->t, f, at, n, f->sub->size));
    char *const array = kiln_arena_array(fb->arena, n, f->sub->size);
    for (size_t i = 0; i < n; i++) {
        size_t to;
        KILN_TRY(follow(fb, v->t, f, first + i * OFFSET, &to));
        KILN_TRY(read_table(fb, f->sub, to, array + i * f->sub->size, depth + 1));
    }
    memcpy(out + f->offset, &array, sizeof array);
    memcpy(out + f->also, &n, sizeof n);
    return KILN_OK;
}

static void store_i(const kiln_fb_field *f, char *out, int64_t v) {
    memcpy(out + f->offset, &v, sizeof v);
}

static kiln_status read_field(kiln_fb *fb, const view *v, const kiln_fb_field *f,
                              size_t at, char *out, int depth) {
    const uint64_t bits = load(fb, at, width_of(f->kind));
    switch (f->kind) {
    case KILN_FB_BOOL:
        store_i(f, out, bits != 0);
        return KILN_OK;
    case KILN_FB_U8:
    case KILN_FB_U32:
    case KILN_FB_U64:
        store_i(f, out, (int64_t)bits);
        return KILN_OK;
    case KILN_FB_I8:
    case KILN_FB_I32:
    case KILN_FB_I64:
        store_i(f, out, sign_extend(bits, width_of(f->kind)));
        return KILN_OK;
    case KILN_FB_F32: {
        const double d = to_f32(bits);
        memcpy(out + f->offset, &d, sizeof d);
        return KILN_OK;
    }
    case KILN_FB_STRING:
    case KILN_FB_BYTES:
        return text(fb, v, f, at, out);
    case KILN_FB_U16S:
        return numbers(fb, v, f, at, 2, out);
    case KILN_FB_I32S:
    case KILN_FB_F32S:
        return numbers(fb, v, f, at, 4, out);
    case KILN_FB_I64S:
        return numbers(fb, v, f, at, 8, out);
    case KILN_FB_REF: {
        size_t to;
        KILN_TRY(follow(fb, v->t, f, at, &to));
        store_i(f, out, (int64_t)to);
        return KILN_OK;
    }
    case KILN_FB_TABLE:
        return one_table(fb, v, f, at, out, depth);
    case KILN_FB_TABLES:
        return many_tables(fb, v, f, at, out, depth);
    }
    return KILN_OK;
}

static bool is_integer(kiln_fb_kind kind) { return kind <= KILN_FB_U64; }

static kiln_status read_table(kiln_fb *fb, const kiln_fb_table *t, size_t at, char *out,
                              int depth) {
    view v;
    if (depth > KILN_FB_MAX_DEPTH)
        return kiln_fail(fb->err, KILN_ERR_LIMIT,
                         "flatbuffers: %s at byte %zu is nested more than %d tables "
                         "deep",
                         t->name, at, KILN_FB_MAX_DEPTH);
    KILN_TRY(open_table(fb, t, at, &v));
    for (size_t i = 0; i < t->n_field; i++) {
        const kiln_fb_field *const f = &t->field[i];
        size_t field_at;
        KILN_TRY(find(fb, &v, f, &field_at));
        if (field_at != 0)
            KILN_TRY(read_field(fb, &v, f, field_at, out, depth));
        else if (is_integer(f->kind))
            store_i(f, out, f->otherwise);
    }
    return KILN_OK;
}

kiln_status kiln_fb_at(kiln_fb *fb, kiln_fb_ref ref, const kiln_fb_table *t,
                       void *out) {
    KILN_ASSERT(t->size > 0 && out != NULL, "'%s' is read into nothing", t->name);
    memset(out, 0, t->size);
    if (ref != 0)
        return read_table(fb, t, (size_t)ref, out, 0);
    for (size_t i = 0; i < t->n_field; i++)
        if (is_integer(t->field[i].kind))
            store_i(&t->field[i], out, t->field[i].otherwise);
    return KILN_OK;
}

kiln_status kiln_fb_root(kiln_fb *fb, const kiln_fb_table *t, void *out) {
    KILN_ASSERT(t->size > 0 && out != NULL, "'%s' is read into nothing", t->name);
    if (!has(fb, 0, FILE_HEAD))
        return refuse(fb, t, NULL, 0, "the file is too short");
    memset(out, 0, t->size);
    return read_table(fb, t, (size_t)load(fb, 0, OFFSET), out, 0);
}
