/* A static library: objects one after another, and an index of what they define, which
 * linkers ask first. The form is that of System V as GNU's ar writes it (man 5 ar), with
 * neither times nor owners: the same objects give the same bytes. */
#include "pipeline/csource/csource_internal.h"

#include <string.h>

enum { HEADER = 60, MAX_NAME = 15 };

static void put_header(kiln_buf *out, const char *name, size_t bytes) {
    kiln_buf_printf(out, "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, "644",
                    bytes);
}

/* Members begin at even bytes. */
static size_t even(size_t n) { return n + n % 2; }

static void put_even(kiln_buf *out, const char *padding) {
    if (out->n % 2 != 0)
        kiln_buf_puts(out, padding);
}

/* Big-endian, on every machine. */
static void put_u32(kiln_buf *out, size_t v) {
    const char bytes[4] = {(char)(v >> 24 & 0xFF), (char)(v >> 16 & 0xFF),
                           (char)(v >> 8 & 0xFF), (char)(v & 0xFF)};
    kiln_buf_add(out, bytes, sizeof bytes);
}

static void put_index(kiln_buf *out, const kiln_csource_object *object, size_t n) {
    size_t names = 0, at = sizeof "!<arch>\n" - 1 + HEADER;
    for (size_t i = 0; i < n; i++)
        names += strlen(object[i].symbol) + 1;
    const size_t bytes = 4 + 4 * n + names;
    at += even(bytes);
    put_header(out, "/", bytes);
    put_u32(out, n);
    for (size_t i = 0; i < n; i++) {
        put_u32(out, at);
        at += HEADER + even(object[i].bytes.n);
    }
    for (size_t i = 0; i < n; i++)
        kiln_buf_add(out, object[i].symbol, strlen(object[i].symbol) + 1);
    if (out->n % 2 != 0)
        kiln_buf_add(out, "", 1);
}

kiln_str kiln_csource_archive(kiln_arena *a, const kiln_csource_object *object,
                              size_t n) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_buf_puts(&out, "!<arch>\n");
    put_index(&out, object, n);
    for (size_t i = 0; i < n; i++) {
        const char *name = kiln_format(a, "%zu.o/", i);
        KILN_ASSERT(strlen(name) <= MAX_NAME, "a library of %zu objects", n);
        put_header(&out, name, object[i].bytes.n);
        kiln_buf_add(&out, object[i].bytes.p, object[i].bytes.n);
        put_even(&out, "\n");
    }
    return kiln_buf_str(&out);
}
