/* JSON (RFC 8259): reading through cJSON, writing by a small writer of our own so that
 * equal data gives equal bytes.
 *
 * cJSON keeps numbers as double: 64-bit identifiers travel as strings.
 */
#ifndef KILN_BASE_JSON_H
#define KILN_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/core.h"

/* A value of a parsed document; borrowed, lives as long as the arena it was parsed
 * into. */
typedef struct cJSON kiln_json;

/* Also the bound for what a document costs in memory: about 40 bytes each byte of text,
 * at worst. */
enum { KILN_JSON_MAX_BYTES = 64 * 1024 * 1024, KILN_JSON_MAX_DEPTH = 100 };

/* Parses a whole document. The message starts with "name:line:column: " (`name` is a
 * path, for people; a column is a byte). Refused beyond what RFC 8259 refuses: deeper
 * nesting and larger documents than above (KILN_ERR_LIMIT), duplicate keys in an
 * object, \u0000 in a string, numbers that a double cannot hold or that have 64
 * characters or more. */
kiln_status kiln_json_parse(kiln_arena *a, kiln_str text, const char *name,
                            const kiln_json **out, kiln_err *err);
kiln_status kiln_json_read(kiln_arena *a, const char *path, const kiln_json **out,
                           kiln_err *err);

/* All accept NULL (and give NULL, false or the default), so paths can be chained. */
const kiln_json *kiln_json_get(const kiln_json *object, const char *key);
const kiln_json *kiln_json_at(const kiln_json *array, size_t i); /* linear in i */
const kiln_json *kiln_json_first(const kiln_json *container);
const kiln_json *kiln_json_next(const kiln_json *element);
const char *kiln_json_key(const kiln_json *member); /* key of an object's member */
size_t kiln_json_size(const kiln_json *container);
bool kiln_json_is_object(const kiln_json *v);
bool kiln_json_is_array(const kiln_json *v);
bool kiln_json_is_number(const kiln_json *v);
bool kiln_json_is_string(const kiln_json *v);
bool kiln_json_is_bool(const kiln_json *v);
bool kiln_json_is_null(const kiln_json *v); /* false where there is nothing */
const char *kiln_json_string(const kiln_json *v, const char *otherwise);
double kiln_json_number(const kiln_json *v, double otherwise);
/* A number that is written with a fraction or an exponent: 2.0, not 2. Writers that tell
 * floats from integers (Python's) do so by that. */
bool kiln_json_is_real(const kiln_json *v);
bool kiln_json_bool(const kiln_json *v, bool otherwise);
/* False unless the value is a number with an integer value of at most 2^53. */
bool kiln_json_i64(const kiln_json *v, int64_t *out);

/* One document. Two blanks of indent, keys in the order given, shortest text that reads
 * back as the same double; NaN and infinities become null. No newline at the end.
 * Misuse (a value without a key in an object, two documents) asserts. */
typedef struct kiln_json_writer {
    kiln_buf *out; /* borrowed */
    int depth;
    unsigned char has_item[64]; /* per depth: a comma is due */
    unsigned char is_object[64];
    bool after_key;
    int compact_from; /* depth from which values stay on one line; INT_MAX: never */
} kiln_json_writer;

void kiln_json_writer_init(kiln_json_writer *w, kiln_buf *out);
void kiln_json_begin_object(kiln_json_writer *w);
void kiln_json_end_object(kiln_json_writer *w);
void kiln_json_begin_array(kiln_json_writer *w);
/* An array whose elements stay on one line, for shapes and the like. */
void kiln_json_begin_row(kiln_json_writer *w);
void kiln_json_end_array(kiln_json_writer *w);
void kiln_json_name(kiln_json_writer *w, const char *key);
void kiln_json_put_string(kiln_json_writer *w,
                          kiln_str s); /* invalid UTF-8 is escaped as \u00NN */
void kiln_json_put_i64(kiln_json_writer *w, int64_t v);
void kiln_json_put_f64(kiln_json_writer *w, double v);
void kiln_json_put_bool(kiln_json_writer *w, bool v);
void kiln_json_put_null(kiln_json_writer *w);
/* What was parsed, as this writer writes: a document of its own comes out as it went
 * in. Arrays are rows. */
void kiln_json_put(kiln_json_writer *w, const kiln_json *v);
typedef struct kiln_json_text {
    const char *name, *value; /* value NULL: null */
} kiln_json_text;
/* An object of n texts, in this order. */
void kiln_json_put_texts(kiln_json_writer *w, const kiln_json_text *t, size_t n);
/* "key": value in one call. */
void kiln_json_member_str(kiln_json_writer *w, const char *key,
                          const char *z); /* NULL: null */
void kiln_json_member_i64(kiln_json_writer *w, const char *key, int64_t v);
void kiln_json_member_f64(kiln_json_writer *w, const char *key, double v);
void kiln_json_member_bool(kiln_json_writer *w, const char *key, bool v);

#endif
