/* Flatbuffers for tests. Source: FlatBuffers, "Internals". */
#include "tests/support/model/flatbuffer_writer.h"

#include <string.h>

#include "tests/support/kiln_test.h"

enum { MAX_SLOTS = 16, ALIGN = 8, OFFSET = 4 };

typedef enum kind { NONE, NUMBER, VECTOR, TEXT, TABLE, TABLES } kind;

typedef struct field {
    kind kind;
    size_t bytes; /* of a number, of an element */
    char number[8];
    const void *v;
    size_t n;
    const kiln_fbw_table *table;
    const kiln_fbw_list *list;
} field;

struct kiln_fbw_table {
    field field[MAX_SLOTS];
};

struct kiln_fbw_list {
    KILN_VEC(kiln_fbw_table *) tables;
};

kiln_fbw_table *kiln_fbw_new(void) {
    return kiln_new(kiln_test_arena(), kiln_fbw_table);
}

static field *field_at(kiln_fbw_table *t, unsigned slot, kind k) {
    assert_true(slot < MAX_SLOTS && t->field[slot].kind == NONE);
    t->field[slot].kind = k;
    return &t->field[slot];
}

void kiln_fbw_int(kiln_fbw_table *t, unsigned slot, size_t bytes, int64_t v) {
    field *const f = field_at(t, slot, NUMBER);
    f->bytes = bytes;
    for (size_t i = 0; i < bytes; i++)
        f->number[i] = (char)(unsigned char)((uint64_t)v >> (8 * i));
}

void kiln_fbw_float(kiln_fbw_table *t, unsigned slot, float v) {
    field *const f = field_at(t, slot, NUMBER);
    f->bytes = sizeof v;
    memcpy(f->number, &v, sizeof v);
}

void kiln_fbw_vector(kiln_fbw_table *t, unsigned slot, const void *v, size_t n,
                     size_t bytes) {
    field *const f = field_at(t, slot, VECTOR);
    f->bytes = bytes;
    f->n = n;
    f->v = n > 0 ? kiln_arena_dup(kiln_test_arena(), v, n * bytes) : NULL;
}

void kiln_fbw_text(kiln_fbw_table *t, unsigned slot, const char *z) {
    kiln_fbw_vector(t, slot, z, strlen(z), 1);
    t->field[slot].kind = TEXT;
}

void kiln_fbw_ints(kiln_fbw_table *t, unsigned slot, const int32_t *v, size_t n) {
    kiln_fbw_vector(t, slot, v, n, sizeof *v);
}

kiln_fbw_table *kiln_fbw_sub(kiln_fbw_table *t, unsigned slot) {
    kiln_fbw_table *const sub = kiln_fbw_new();
    field_at(t, slot, TABLE)->table = sub;
    return sub;
}

kiln_fbw_list *kiln_fbw_tables(kiln_fbw_table *t, unsigned slot) {
    kiln_fbw_list *const l = kiln_new(kiln_test_arena(), kiln_fbw_list);
    field_at(t, slot, TABLES)->list = l;
    return l;
}

kiln_fbw_table *kiln_fbw_add(kiln_fbw_list *l) {
    kiln_fbw_table *const t = kiln_fbw_new();
    kiln_vec_push(kiln_test_arena(), &l->tables, t);
    return t;
}

/* ---- writing ------------------------------------------------------------------------ */

static void put(kiln_buf *b, uint64_t v, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        const char byte = (char)(unsigned char)(v >> (8 * i));
        kiln_buf_add(b, &byte, 1);
    }
}

/* `before`: bytes that come before what must lie aligned. */
static void align(kiln_buf *b, size_t before) {
    while ((b->n + before) % ALIGN != 0)
        put(b, 0, 1);
}

/* The offset that stands at `at` leads to the end so far. */
static void lead_here(kiln_buf *b, size_t at) {
    const uint32_t offset = (uint32_t)(b->n - at);
    memcpy(b->p + at, &offset, sizeof offset);
}

static size_t write_table(kiln_buf *b, const kiln_fbw_table *t);

static void write_tables(kiln_buf *b, const kiln_fbw_list *l) {
    put(b, l->tables.n, OFFSET);
    const size_t first = b->n;
    for (size_t i = 0; i < l->tables.n; i++)
        put(b, 0, OFFSET);
    for (size_t i = 0; i < l->tables.n; i++) {
        const size_t at = first + i * OFFSET;
        const uint32_t offset = (uint32_t)(write_table(b, l->tables.v[i]) - at);
        memcpy(b->p + at, &offset, sizeof offset);
    }
}

static void write_field(kiln_buf *b, const field *f, size_t at) {
    if (f->kind == TABLE) {
        const uint32_t offset = (uint32_t)(write_table(b, f->table) - at);
        memcpy(b->p + at, &offset, sizeof offset);
        return;
    }
    align(b, OFFSET);
    lead_here(b, at);
    if (f->kind == TABLES) {
        write_tables(b, f->list);
        return;
    }
    put(b, f->n, OFFSET);
    if (f->n > 0)
        kiln_buf_add(b, f->v, f->n * f->bytes);
    if (f->kind == TEXT)
        put(b, 0, 1);
}

/* The virtual table, the table, then what its offsets lead to. Where it lies. */
static size_t write_table(kiln_buf *b, const kiln_fbw_table *t) {
    size_t at[MAX_SLOTS] = {0}, size = ALIGN;
    for (size_t i = 0; i < MAX_SLOTS; i++) {
        if (t->field[i].kind == NONE)
            continue;
        at[i] = size;
        size += ALIGN;
    }
    align(b, 0);
    const size_t vtable = b->n;
    put(b, 2 * (MAX_SLOTS + 2), 2);
    put(b, size, 2);
    for (size_t i = 0; i < MAX_SLOTS; i++)
        put(b, at[i], 2);
    align(b, 0);
    const size_t table = b->n;
    put(b, table - vtable, ALIGN);
    for (size_t i = 0; i < MAX_SLOTS; i++) {
        if (at[i] == 0)
            continue;
        kiln_buf_add(b, t->field[i].number, sizeof t->field[i].number);
    }
    for (size_t i = 0; i < MAX_SLOTS; i++)
        if (at[i] != 0 && t->field[i].kind != NUMBER)
            write_field(b, &t->field[i], table + at[i]);
    return table;
}

kiln_str kiln_fbw_write(const kiln_fbw_table *root, const char *identifier) {
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    put(&b, 0, OFFSET);
    kiln_buf_puts(&b, identifier);
    const uint32_t at = (uint32_t)write_table(&b, root);
    memcpy(b.p, &at, sizeof at);
    return kiln_buf_str(&b);
}
