/* Writing JSON (RFC 8259): see json.h. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/json.h"

enum { MAX_DEPTH = sizeof((kiln_json_writer *)0)->has_item };

void kiln_json_writer_init(kiln_json_writer *w, kiln_buf *out) {
    *w = (kiln_json_writer){.out = out, .compact_from = INT_MAX};
}

static void new_line(kiln_json_writer *w, int depth) {
    kiln_buf_puts(w->out, "\n");
    for (int i = 0; i < depth; i++)
        kiln_buf_puts(w->out, "  ");
}

/* Before a member's key or an array's element: the comma and where it stands. */
static void begin_item(kiln_json_writer *w) {
    const bool is_compact = w->depth >= w->compact_from;
    if (w->has_item[w->depth])
        kiln_buf_puts(w->out, is_compact ? ", " : ",");
    if (w->depth > 0 && !is_compact)
        new_line(w, w->depth);
    w->has_item[w->depth] = 1;
}

static void begin_value(kiln_json_writer *w) {
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    KILN_ASSERT(!w->is_object[w->depth], "a value in an object needs a key");
    KILN_ASSERT(w->depth > 0 || !w->has_item[0], "a document is one value");
    begin_item(w);
}

static void begin_container(kiln_json_writer *w, bool is_object) {
    begin_value(w);
    kiln_buf_puts(w->out, is_object ? "{" : "[");
    KILN_ASSERT(w->depth + 1 < (int)MAX_DEPTH, "nesting is deeper than %d",
                (int)MAX_DEPTH);
    w->depth++;
    w->has_item[w->depth] = 0;
    w->is_object[w->depth] = is_object;
}

static void end_container(kiln_json_writer *w, bool is_object) {
    KILN_ASSERT(w->depth > 0 && (w->is_object[w->depth] != 0) == is_object,
                "the end does not match its beginning");
    KILN_ASSERT(!w->after_key, "a key has no value");
    const bool had_item = w->has_item[w->depth] != 0;
    const bool is_compact = w->depth >= w->compact_from;
    w->depth--;
    if (had_item && !is_compact)
        new_line(w, w->depth);
    if (w->depth < w->compact_from && is_compact)
        w->compact_from = INT_MAX;
    kiln_buf_puts(w->out, is_object ? "}" : "]");
}

void kiln_json_begin_object(kiln_json_writer *w) { begin_container(w, true); }

void kiln_json_end_object(kiln_json_writer *w) { end_container(w, true); }

void kiln_json_begin_array(kiln_json_writer *w) { begin_container(w, false); }

void kiln_json_end_array(kiln_json_writer *w) { end_container(w, false); }

void kiln_json_begin_row(kiln_json_writer *w) {
    begin_container(w, false);
    if (w->compact_from > w->depth)
        w->compact_from = w->depth;
}

static void put_escaped(kiln_buf *out, unsigned char c) {
    static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    const char *at = c == 0 ? NULL : strchr(plain, c);
    if (at != NULL)
        kiln_buf_printf(out, "\\%c", letter[at - plain]);
    else
        kiln_buf_printf(out, "\\u%04x", c);
}

static void put_quoted(kiln_buf *out, kiln_str s) {
    kiln_buf_puts(out, "\"");
    size_t n_plain = 0; /* bytes at s.p that go out as they are */
    while (n_plain < s.n) {
        const unsigned char c = (unsigned char)s.p[n_plain];
        const size_t len = kiln_utf8_len((kiln_str){s.p + n_plain, s.n - n_plain});
        if (len > 0 && c >= 0x20 && c != '"' && c != '\\') {
            n_plain += len;
            continue;
        }
        kiln_buf_add(out, s.p, n_plain);
        put_escaped(out, c);
        s.p += n_plain + 1;
        s.n -= n_plain + 1;
        n_plain = 0;
    }
    kiln_buf_add(out, s.p, n_plain);
    kiln_buf_puts(out, "\"");
}

void kiln_json_name(kiln_json_writer *w, const char *key) {
    KILN_ASSERT(w->is_object[w->depth], "only an object has keys, not here: '%s'", key);
    KILN_ASSERT(!w->after_key, "a key has no value, before '%s'", key);
    begin_item(w);
    put_quoted(w->out, kiln_str_from(key));
    kiln_buf_puts(w->out, ": ");
    w->after_key = true;
}

void kiln_json_put_string(kiln_json_writer *w, kiln_str s) {
    begin_value(w);
    put_quoted(w->out, s);
}

void kiln_json_put_i64(kiln_json_writer *w, int64_t v) {
    begin_value(w);
    kiln_buf_printf(w->out, "%" PRId64, v);
}

void kiln_json_put_f64(kiln_json_writer *w, double v) {
    begin_value(w);
    if (!isfinite(v)) {
        kiln_buf_puts(w->out, "null");
        return;
    }
    /* 15 digits survive in any double, 17 tell any two apart; most texts need 15 or 16.
     */
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    kiln_buf_puts(w->out, text);
}

void kiln_json_put_bool(kiln_json_writer *w, bool v) {
    begin_value(w);
    kiln_buf_puts(w->out, v ? "true" : "false");
}

void kiln_json_put_null(kiln_json_writer *w) {
    begin_value(w);
    kiln_buf_puts(w->out, "null");
}

void kiln_json_put_texts(kiln_json_writer *w, const kiln_json_text *t, size_t n) {
    kiln_json_begin_object(w);
    for (size_t i = 0; i < n; i++)
        kiln_json_member_str(w, t[i].name, t[i].value);
    kiln_json_end_object(w);
}

void kiln_json_member_str(kiln_json_writer *w, const char *key, const char *z) {
    kiln_json_name(w, key);
    if (z == NULL)
        kiln_json_put_null(w);
    else
        kiln_json_put_string(w, kiln_str_from(z));
}

void kiln_json_member_i64(kiln_json_writer *w, const char *key, int64_t v) {
    kiln_json_name(w, key);
    kiln_json_put_i64(w, v);
}

void kiln_json_member_f64(kiln_json_writer *w, const char *key, double v) {
    kiln_json_name(w, key);
    kiln_json_put_f64(w, v);
}

void kiln_json_member_bool(kiln_json_writer *w, const char *key, bool v) {
    kiln_json_name(w, key);
    kiln_json_put_bool(w, v);
}
