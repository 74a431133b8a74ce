#include "tests/support/model/pb_text.h"

#include <stdlib.h>
#include <string.h>

#include "zoo/onnx_write.h"

static void put_message(kiln_buf *out, const char **p, char end);

static int64_t take_int(const char **p) {
    char *end = NULL;
    const int64_t v = strtoll(*p, &end, 10);
    KILN_ASSERT(end != *p, "no number: %s", *p);
    *p = end;
    return v;
}

static void put_floats(kiln_buf *out, uint32_t field, const char **p) {
    kiln_buf b;
    kiln_buf_init(&b, out->arena);
    if (**p == '*') {
        ++*p;
        const size_t n = (size_t)take_int(p);
        kiln_buf_add(&b, (const char *)kiln_array(out->arena, float, n),
                     n * sizeof(float));
    }
    while (**p != ')') {
        char *end = NULL;
        const float v = strtof(*p, &end);
        KILN_ASSERT(end != *p, "no float: %s", *p);
        kiln_buf_add(&b, &v, sizeof v);
        *p = end;
        *p += strspn(*p, " ");
    }
    ++*p;
    kiln_pb_put_bytes(out, field, kiln_buf_str(&b));
}

static void put_ints(kiln_buf *out, uint32_t field, const char **p) {
    kiln_buf b;
    kiln_buf_init(&b, out->arena);
    while (**p != ']') {
        kiln_pb_put_varint(&b, (uint64_t)take_int(p));
        *p += strspn(*p, ", ");
    }
    ++*p;
    kiln_pb_put_bytes(out, field, kiln_buf_str(&b));
}

static void put_text(kiln_buf *out, uint32_t field, const char **p) {
    const size_t n = strcspn(*p, "'");
    kiln_pb_put_bytes(out, field, (kiln_str){*p, n});
    *p += n + 1;
}

static void put_field(kiln_buf *out, const char **p) {
    const uint32_t field = (uint32_t)take_int(p);
    kiln_buf b;
    kiln_buf_init(&b, out->arena);
    KILN_ASSERT(**p == ':', "no ':': %s", *p);
    const char kind = *++*p;
    *p += strchr("{['(fw", kind) != NULL ? 1 : 0;
    switch (kind) {
    case '{':
        put_message(&b, p, '}');
        kiln_pb_put_bytes(out, field, kiln_buf_str(&b));
        break;
    case '[':
        put_ints(out, field, p);
        break;
    case '\'':
        put_text(out, field, p);
        break;
    case '(':
        put_floats(out, field, p);
        break;
    case 'w':
        ++*p; /* the bracket */
        put_floats(&b, 1, p);
        kiln_pb_put_bytes(out, field, kiln_buf_str(&b));
        break;
    case 'f': {
        char *end = NULL;
        kiln_pb_put_float(out, field, strtof(*p, &end));
        *p = end;
        break;
    }
    default:
        kiln_pb_put_int(out, field, take_int(p));
    }
}

static void put_message(kiln_buf *out, const char **p, char end) {
    for (;;) {
        *p += strspn(*p, " ");
        if (**p == end)
            break;
        put_field(out, p);
    }
    *p += end != '\0';
}

kiln_str kiln_test_pb(kiln_arena *a, const char *text) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    put_message(&b, &text, '\0');
    return kiln_buf_str(&b);
}
