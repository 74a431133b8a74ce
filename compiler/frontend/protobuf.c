/* Protobuf wire format by tables: see protobuf.h. Source: Protocol Buffers, "Encoding".
 */
#include "compiler/frontend/protobuf.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
enum { MAX_VARINT_BYTES = 10 };

/* Empty messages take two bytes on the wire and a whole struct in memory: without a
 * bound a file of 100 MB could ask for gigabytes. Real models stay below 4 bytes per
 * byte. */
static const uint64_t budget_base = (uint64_t)64 << 20;
static const uint64_t budget_per_byte = 16;

typedef struct reader {
    kiln_arena *arena;
    const char *start; /* of the whole input: offsets in messages count from here */
    uint64_t budget;   /* bytes that may still be made */
    kiln_err *err;
} reader;

/* A position inside one message. */
typedef struct cursor {
    const char *p, *end;
    const kiln_pb_message *m;
} cursor;

/* How often each field of a table occurs, and where the next element goes. */
typedef struct tally {
    size_t n[KILN_PB_MAX_FIELDS];      /* elements */
    size_t chunks[KILN_PB_MAX_FIELDS]; /* occurrences on the wire */
    void *array[KILN_PB_MAX_FIELDS];
} tally;

static bool take_varint(const char **p, const char *end, uint64_t *out) {
    uint64_t v = 0;
    for (int i = 0; i < MAX_VARINT_BYTES && *p < end; i++) {
        const uint64_t byte = (unsigned char)*(*p)++;
        v |= (byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            *out = v;
            return true;
        }
    }
    return false;
}

static bool take_fixed(const char **p, const char *end, size_t bytes, uint64_t *out) {
    if ((size_t)(end - *p) < bytes)
        return false;
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)(unsigned char)(*p)[i] << (8 * i);
    *p += bytes;
    *out = v;
    return true;
}

static bool take_payload(const char **p, const char *end, kiln_pb_wire *w) {
    uint64_t len;
    switch (w->type) {
    case WIRE_VARINT:
        return take_varint(p, end, &w->value);
    case WIRE_FIXED64:
        return take_fixed(p, end, 8, &w->value);
    case WIRE_FIXED32:
        return take_fixed(p, end, 4, &w->value);
    case WIRE_BYTES:
        if (!take_varint(p, end, &len) || len > (uint64_t)(end - *p))
            return false;
        w->bytes = (kiln_str){*p, (size_t)len};
        *p += len;
        return true;
    default:
        return false;
    }
}

static bool take_tag(const char **p, const char *end, kiln_pb_wire *w) {
    uint64_t tag;
    *w = (kiln_pb_wire){0};
    if (!take_varint(p, end, &tag) || tag >> 3 == 0 || tag >> 3 > KILN_PB_MAX_NUMBER)
        return false;
    w->number = (uint32_t)(tag >> 3);
    w->type = (unsigned)(tag & 7);
    return true;
}

bool kiln_pb_next(kiln_str *rest, kiln_pb_wire *out) {
    const char *p = rest->p;
    const char *const end = p + rest->n;
    if (rest->n == 0 || !take_tag(&p, end, out) || !take_payload(&p, end, out))
        return false;
    *rest = (kiln_str){p, (size_t)(end - p)};
    return true;
}

static size_t offset_of(const reader *r, const char *p) {
    return (size_t)(p - r->start);
}

static kiln_status refuse(const reader *r, const cursor *c, const kiln_pb_field *f,
                          const char *at, const char *what) {
    return kiln_fail(r->err, KILN_ERR_PARSE, "protobuf: %s%s%s%s at byte %zu: %s",
                     c->m->name, f == NULL ? "" : ", field '", f == NULL ? "" : f->name,
                     f == NULL ? "" : "'", offset_of(r, at), what);
}

static const kiln_pb_field *find_field(const kiln_pb_message *m, uint32_t number) {
    for (size_t i = 0; i < m->n_field; i++)
        if (m->field[i].number == number)
            return &m->field[i];
    return NULL;
}

static unsigned wire_of(kiln_pb_kind kind) {
    switch (kind) {
    case KILN_PB_I64:
    case KILN_PB_I32:
    case KILN_PB_U64:
    case KILN_PB_BOOL:
        return WIRE_VARINT;
    case KILN_PB_F32:
        return WIRE_FIXED32;
    case KILN_PB_F64:
        return WIRE_FIXED64;
    case KILN_PB_BYTES:
    case KILN_PB_MESSAGE:
    case KILN_PB_INLINE:
    case KILN_PB_COUNT:
        return WIRE_BYTES;
    }
    return WIRE_BYTES;
}

size_t kiln_pb_elem_bytes(const kiln_pb_field *f) {
    switch (f->kind) {
    case KILN_PB_I64:
    case KILN_PB_U64:
        return sizeof(int64_t);
    case KILN_PB_I32:
        return sizeof(int32_t);
    case KILN_PB_BOOL:
        return sizeof(bool);
    case KILN_PB_F32:
        return sizeof(float);
    case KILN_PB_F64:
        return sizeof(double);
    case KILN_PB_BYTES:
        return sizeof(kiln_str);
    case KILN_PB_MESSAGE:
        return f->sub->size;
    case KILN_PB_INLINE:
    case KILN_PB_COUNT:
        return 0;
    }
    return 0;
}

static bool is_packable(const kiln_pb_field *f) {
    return f->is_repeated && wire_of(f->kind) != WIRE_BYTES;
}

/* Reads one field and finds its row (NULL: unknown, to be skipped). */
static kiln_status next_field(const reader *r, cursor *c, kiln_pb_wire *w,
                              const kiln_pb_field **f) {
    const char *const at = c->p;
    *f = NULL;
    if (!take_tag(&c->p, c->end, w))
        return refuse(r, c, NULL, at,
                      "no field tag (is the file truncated or damaged?)");
    *f = find_field(c->m, w->number);
    if (w->type != WIRE_VARINT && w->type != WIRE_FIXED64 && w->type != WIRE_BYTES &&
        w->type != WIRE_FIXED32)
        return refuse(r, c, *f, at, "groups and unknown wire types are not read");
    if (!take_payload(&c->p, c->end, w))
        return refuse(r, c, *f, at,
                      w->type == WIRE_BYTES
                          ? "the length passes the end of the message (is the file "
                            "truncated?)"
                          : "the value is cut off or longer than 10 bytes");
    if (*f != NULL && (*f)->kind != KILN_PB_COUNT && w->type != wire_of((*f)->kind) &&
        !(w->type == WIRE_BYTES && is_packable(*f)))
        return refuse(r, c, *f, at, "the wire type does not fit the field");
    return KILN_OK;
}

/* Elements in a packed run; a varint ends with a byte below 0x80. */
static kiln_status count_packed(const reader *r, const cursor *c,
                                const kiln_pb_field *f, kiln_str run, size_t *n) {
    if (wire_of(f->kind) != WIRE_VARINT) {
        const size_t size = kiln_pb_elem_bytes(f);
        if (run.n % size != 0)
            return refuse(r, c, f, run.p,
                          "packed bytes are no multiple of the element");
        *n += run.n / size;
        return KILN_OK;
    }
    for (size_t i = 0; i < run.n; i++)
        *n += ((unsigned char)run.p[i] & 0x80) == 0;
    return KILN_OK;
}

static kiln_status count_fields(const reader *r, cursor c, tally *t) {
    while (c.p < c.end) {
        kiln_pb_wire w;
        const kiln_pb_field *f;
        const char *const at = c.p;
        KILN_TRY(next_field(r, &c, &w, &f));
        if (f == NULL)
            continue;
        const size_t i = (size_t)(f - c.m->field);
        t->chunks[i]++;
        if (w.type == WIRE_BYTES && is_packable(f))
            KILN_TRY(count_packed(r, &c, f, w.bytes, &t->n[i]));
        else
            t->n[i]++;
        const bool is_message = f->kind == KILN_PB_MESSAGE || f->kind == KILN_PB_INLINE;
        if (is_message && !f->is_repeated && t->n[i] > 1)
            return refuse(r, &c, f, at, "the message is given twice");
    }
    return KILN_OK;
}

static kiln_status spend(reader *r, const cursor *c, const kiln_pb_field *f, size_t n,
                         size_t size) {
    if (size != 0 && n > r->budget / size)
        return kiln_fail(
            r->err, KILN_ERR_LIMIT,
            "protobuf: %s, field '%s' at byte %zu: %zu elements need more "
            "memory than such a file may ask for (64 MiB + 16 times its size)",
            c->m->name, f->name, offset_of(r, c->p), n);
    r->budget -= n * size;
    return KILN_OK;
}

static bool is_little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* A single packed run of fixed-size elements that lies aligned serves as the array. */
static bool can_view(const kiln_pb_field *f, kiln_str run) {
    return wire_of(f->kind) != WIRE_VARINT && is_little_endian() &&
           (uintptr_t)run.p % kiln_pb_elem_bytes(f) == 0;
}

static void store(const kiln_pb_field *f, void *to, const kiln_pb_wire *w) {
    switch (f->kind) {
    case KILN_PB_I64:
    case KILN_PB_U64:
    case KILN_PB_F64:
        memcpy(to, &w->value, 8);
        break;
    case KILN_PB_I32:
    case KILN_PB_F32: {
        const uint32_t low = (uint32_t)w->value;
        memcpy(to, &low, 4);
        break;
    }
    case KILN_PB_BOOL: {
        const bool b = w->value != 0;
        memcpy(to, &b, sizeof b);
        break;
    }
    case KILN_PB_BYTES:
        memcpy(to, &w->bytes, sizeof w->bytes);
        break;
    case KILN_PB_MESSAGE:
    case KILN_PB_INLINE:
    case KILN_PB_COUNT:
        break;
    }
}

static kiln_status fill_packed(const reader *r, const cursor *c, const kiln_pb_field *f,
                               kiln_str run, char *to) {
    const size_t size = kiln_pb_elem_bytes(f);
    const char *p = run.p, *const end = run.p + run.n;
    kiln_pb_wire w = {0};
    for (; p < end; to += size) {
        const bool ok = wire_of(f->kind) == WIRE_VARINT
                            ? take_varint(&p, end, &w.value)
                            : take_fixed(&p, end, size, &w.value);
        if (!ok)
            return refuse(r, c, f, p,
                          "a packed varint is cut off or longer than 10 bytes");
        store(f, to, &w);
    }
    return KILN_OK;
}

static kiln_status read_message(reader *r, const kiln_pb_message *m, kiln_str bytes,
                                char *out, int depth);

/* One occurrence of a repeated field goes behind those already there. */
static kiln_status fill_repeated(reader *r, const cursor *c, const kiln_pb_field *f,
                                 const kiln_pb_wire *w, tally *t, char *out,
                                 int depth) {
    const size_t i = (size_t)(f - c->m->field), size = kiln_pb_elem_bytes(f);
    size_t n; /* filled so far: kept in the struct's own count */
    memcpy(&n, out + f->also, sizeof n);
    const bool is_run = w->type == WIRE_BYTES && is_packable(f);
    if (is_run && t->chunks[i] == 1 && can_view(f, w->bytes)) {
        memcpy(out + f->offset, &w->bytes.p, sizeof w->bytes.p);
        memcpy(out + f->also, &t->n[i], sizeof n);
        return KILN_OK;
    }
    if (t->array[i] == NULL) {
        KILN_TRY(spend(r, c, f, t->n[i], size));
        t->array[i] = kiln_arena_array(r->arena, t->n[i], size);
        memcpy(out + f->offset, &t->array[i], sizeof t->array[i]);
    }
    char *const to = (char *)t->array[i] + n * size;
    size_t more = 1;
    if (is_run) {
        more = 0;
        KILN_TRY(count_packed(r, c, f, w->bytes, &more));
        KILN_TRY(fill_packed(r, c, f, w->bytes, to));
    } else if (f->kind == KILN_PB_MESSAGE) {
        KILN_TRY(read_message(r, f->sub, w->bytes, to, depth + 1));
    } else {
        store(f, to, w);
    }
    n += more;
    memcpy(out + f->also, &n, sizeof n);
    return KILN_OK;
}

static kiln_status fill_single(reader *r, const cursor *c, const kiln_pb_field *f,
                               const kiln_pb_wire *w, char *out, int depth) {
    if (f->also != KILN_PB_NONE) {
        const bool given = true;
        memcpy(out + f->also, &given, sizeof given);
    }
    if (f->kind == KILN_PB_INLINE)
        return read_message(r, f->sub, w->bytes, out + f->offset, depth + 1);
    if (f->kind == KILN_PB_MESSAGE) {
        KILN_TRY(spend(r, c, f, 1, f->sub->size));
        void *const sub = kiln_arena_alloc(r->arena, f->sub->size);
        memcpy(out + f->offset, &sub, sizeof sub);
        return read_message(r, f->sub, w->bytes, sub, depth + 1);
    }
    store(f, out + f->offset, w);
    return KILN_OK;
}

static kiln_status read_message(reader *r, const kiln_pb_message *m, kiln_str bytes,
                                char *out, int depth) {
    KILN_ASSERT(m->n_field <= KILN_PB_MAX_FIELDS, "'%s' has too many fields", m->name);
    cursor c = {.p = bytes.p, .end = bytes.p + bytes.n, .m = m};
    if (depth > KILN_PB_MAX_DEPTH)
        return kiln_fail(
            r->err, KILN_ERR_LIMIT,
            "protobuf: %s at byte %zu is nested more than %d messages deep", m->name,
            offset_of(r, bytes.p), KILN_PB_MAX_DEPTH);
    tally t = {0};
    KILN_TRY(count_fields(r, c, &t));
    for (size_t i = 0; i < m->n_field; i++)
        if (m->field[i].kind == KILN_PB_COUNT)
            memcpy(out + m->field[i].offset, &t.n[i], sizeof t.n[i]);
    while (c.p < c.end) {
        kiln_pb_wire w;
        const kiln_pb_field *f;
        KILN_TRY(next_field(r, &c, &w, &f));
        if (f == NULL || f->kind == KILN_PB_COUNT)
            continue;
        if (f->is_repeated)
            KILN_TRY(fill_repeated(r, &c, f, &w, &t, out, depth));
        else
            KILN_TRY(fill_single(r, &c, f, &w, out, depth));
    }
    return KILN_OK;
}

kiln_status kiln_pb_read(kiln_arena *a, const kiln_pb_message *m, kiln_str bytes,
                         void *out, kiln_err *err) {
    if (bytes.p == NULL) /* an empty view: pointer arithmetic needs an object */
        bytes = KILN_STR_LIT("");
    KILN_ASSERT(m->size > 0 && out != NULL, "'%s' is read into nothing", m->name);
    reader r = {.arena = a, .start = bytes.p, .err = err};
    r.budget = budget_base + budget_per_byte * (uint64_t)bytes.n;
    memset(out, 0, m->size);
    return read_message(&r, m, bytes, out, 0);
}
