/* Headers of .npy files: magic, version, length, then a Python dictionary that must be
 * {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3)} with its keys in any order
 * (numpy, lib/format). Anything else is refused, not guessed. */
#include <inttypes.h>
#include <string.h>

#include "pipeline/devices/runner/runner.h"

static const struct {
    const char *dtype, *descr;
} names[] = {
    {"f32", "<f4"},
    {"f16", "<f2"},
    {"f64", "<f8"},
    {"i8", "|i1"},
    {"i16", "<i2"},
    {"i32", "<i4"},
    {"i64", "<i8"},
    {"u8", "|u1"},
    {"u16", "<u2"},
    {"u32", "<u4"},
    {"u64", "<u8"},
    {"bool", "|b1"},
    /* Low-bit types are the bytes that they are stored in. */
    {"f8e4m3fn", "|u1"},
    {"f8e4m3fnuz", "|u1"},
    {"f8e5m2", "|u1"},
    {"f8e5m2fnuz", "|u1"},
    {"f8e8m0", "|u1"},
    {"f4e2m1", "|u1"},
    {"i4", "|i1"},
    {"u4", "|u1"},
    {"i2", "|i1"},
    {"u2", "|u1"},
};

const char *npy_descr(const char *dtype) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].dtype, dtype) == 0)
            return names[i].descr;
    return NULL;
}

typedef struct text {
    const char *p, *end;
} text;

static void skip_spaces(text *t) {
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\n'))
        t->p++;
}

/* Takes the word where it comes next. */
static int take(text *t, const char *word) {
    const size_t n = strlen(word);
    skip_spaces(t);
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
        return 0;
    t->p += n;
    return 1;
}

static int take_number(text *t, int64_t *out) {
    int64_t v = 0;
    skip_spaces(t);
    const char *begin = t->p;
    for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++) {
        if (v > (INT64_MAX - 9) / 10)
            return 0;
        v = v * 10 + (*t->p - '0');
    }
    *out = v;
    return t->p > begin;
}

static int take_shape(text *t, npy_header *out) {
    out->rank = 0;
    if (!take(t, "("))
        return 0;
    while (!take(t, ")")) {
        if (out->rank == KILN_PORT_MAX_RANK || !take_number(t, &out->dim[out->rank++]))
            return 0;
        if (!take(t, ",")) /* (4) is no tuple, but nobody means anything else */
            return take(t, ")");
    }
    return 1;
}

static int take_descr(text *t, npy_header *out) {
    size_t n = 0;
    if (!take(t, "'"))
        return 0;
    while (t->p < t->end && *t->p != '\'' && n + 1 < sizeof out->descr)
        out->descr[n++] = *t->p++;
    out->descr[n] = '\0';
    return take(t, "'");
}

static const char *parse_dictionary(text *t, npy_header *out) {
    int has_descr = 0, has_order = 0, has_shape = 0;
    if (!take(t, "{"))
        return "its header is no dictionary";
    while (!take(t, "}")) {
        if (take(t, "'descr':")) {
            has_descr = take_descr(t, out);
        } else if (take(t, "'fortran_order':")) {
            has_order = take(t, "False");
            if (!has_order)
                return "it is in Fortran's order; save it with order='C'";
        } else if (take(t, "'shape':")) {
            has_shape = take_shape(t, out);
        } else {
            return "its header has an entry that is not known";
        }
        if (!take(t, ",") && !(t->p < t->end && *t->p == '}'))
            return "its header is broken";
    }
    skip_spaces(t);
    if (t->p != t->end)
        return "its header has more than a dictionary";
    return has_descr && has_order && has_shape ? NULL : "its header is not whole";
}

int npy_parse(const unsigned char *p, size_t n, npy_header *out, const char **why) {
    *out = (npy_header){.rank = 0};
    *why = "it does not begin as .npy of version 1, 2 or 3";
    if (n < 12 || memcmp(p, "\x93NUMPY", 6) != 0 || p[6] < 1 || p[6] > 3 || p[7] != 0)
        return -1;
    const size_t fixed = p[6] == 1 ? 10 : 12;
    size_t length = p[8] | (size_t)p[9] << 8;
    if (p[6] != 1)
        length |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    *why = "its header leaves the file";
    if (length > n - fixed)
        return -1;
    text t = {(const char *)p + fixed, (const char *)p + fixed + length};
    *why = parse_dictionary(&t, out);
    out->data = fixed + length;
    return *why == NULL ? 0 : -1;
}

/* Appends; beyond n nothing is written, and the length tells. */
static size_t put(char *out, size_t n, size_t at, const char *s) {
    for (; *s != '\0'; s++, at++)
        if (at < n)
            out[at] = *s;
    return at;
}

size_t npy_format(char *out, size_t n, const kiln_port_info *port) {
    enum { FIXED = 10, ALIGN = 64 };
    const char *descr = npy_descr(port->dtype);
    if (descr == NULL)
        return 0;
    size_t at = put(out, n, FIXED, "{'descr': '");
    at = put(out, n, at, descr);
    at = put(out, n, at, "', 'fortran_order': False, 'shape': (");
    for (int i = 0; i < port->rank; i++) {
        char number[32];
        snprintf(number, sizeof number, "%" PRId64 "%s", port->dim[i],
                 port->rank == 1      ? ","
                 : i + 1 < port->rank ? ", "
                                      : "");
        at = put(out, n, at, number);
    }
    at = put(out, n, at, "), }");
    while ((at + 1) % ALIGN != 0)
        at = put(out, n, at, " ");
    at = put(out, n, at, "\n");
    if (at > n)
        return 0;
    const size_t length = at - FIXED;
    memcpy(out, "\x93NUMPY\x01", 8); /* with the zero: version 1.0 */
    out[8] = (char)(length & 0xFF);
    out[9] = (char)(length >> 8);
    return at;
}
