/* Structs as JSON documents, by tables: one row drives how a member is written, how it
 * is read and what the documentation says of it, so that the three cannot drift apart.
 *
 *     #define T point                                     the struct
 *     static const kiln_record_field point_rows[] = {
 *         KILN_MEMBER(x, "how far right"),                "x", by its C type
 *         KILN_MEMBER_POSITIVE(weight, "of it"),          0: not known
 *     };
 *     KILN_RECORD(point_table, point_rows, "A point")
 *     #undef T
 *
 * What is not known: NULL of a text, NaN of a number, 0 of a positive one; null in the
 * document. Lists are KILN_VECs. Everything read lives in the arena.
 */
#ifndef KILN_BASE_RECORD_H
#define KILN_BASE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/json.h"
#include "base/core/core.h"

typedef enum kiln_record_kind {
    KILN_RECORD_TEXT,     /* const char *; null: not known */
    KILN_RECORD_WORD,     /* the same, one of `word` */
    KILN_RECORD_ENUM,     /* an enum of int's size, by name: its place in `word` */
    KILN_RECORD_JSON,     /* const char *: a value of any kind, as JSON's text */
    KILN_RECORD_I64,      /* int64_t of at least 0 */
    KILN_RECORD_SIZE,     /* size_t */
    KILN_RECORD_INT,      /* int */
    KILN_RECORD_BOOL,     /* bool */
    KILN_RECORD_F64,      /* double; null: not known, NaN */
    KILN_RECORD_POSITIVE, /* double; null: not known, 0 */
    KILN_RECORD_OBJECT,   /* a struct of table `of` */
    KILN_RECORD_PART,     /* the same, whose members stand among these */
    KILN_RECORD_LIST,     /* KILN_VEC of such */
    KILN_RECORD_ROWS,     /* the same, each a list of its members' values */
    KILN_RECORD_NUMBERS,  /* KILN_VEC(double) */
    KILN_RECORD_TEXTS     /* KILN_VEC(const char *) */
} kiln_record_kind;

typedef struct kiln_record_table kiln_record_table;

typedef struct kiln_record_field {
    const char *name; /* the member's; NULL: a part has none */
    kiln_record_kind kind;
    size_t offset;
    const char *doc;
    const kiln_record_table *of;
    const char *const *word; /* NULL at the end */
    size_t has_offset;       /* of the bool that says whether there is one; 0: always */
    size_t most;             /* elements of a list; 0: as many as all lists may have */
} kiln_record_field;

struct kiln_record_table {
    const char *title; /* its heading in the documentation */
    const kiln_record_field *field;
    size_t n_fields, bytes; /* of the struct */
};

/* ---- rows --------------------------------------------------------------------------
 * All take the struct's type from the macro T.
 */

/* By the C type, so that no row can state a wrong one. */
#define KILN_MEMBER_KIND(m)                                                            \
    _Generic(((T *)0)->m,                                                              \
        const char *: KILN_RECORD_TEXT,                                                \
        int64_t: KILN_RECORD_I64,                                                      \
        size_t: KILN_RECORD_SIZE,                                                      \
        int: KILN_RECORD_INT,                                                          \
        bool: KILN_RECORD_BOOL,                                                        \
        double: KILN_RECORD_F64)
/* The kind `k`, for a member that has type t. */
#define KILN_MEMBER_ONLY(m, t, k) _Generic(((T *)0)->m, t : (k))

#define KILN_MEMBER_ROW(name_, m, kind_, doc_, ...)                                    \
    {                                                                                  \
        .name = (name_), .kind = (kind_), .offset = offsetof(T, m), .doc = (doc_),     \
        __VA_ARGS__                                                                    \
    }
#define KILN_MEMBER_AS(name, m, doc_)                                                  \
    KILN_MEMBER_ROW(name, m, KILN_MEMBER_KIND(m), doc_, .of = NULL)
#define KILN_MEMBER(m, doc_) KILN_MEMBER_AS(#m, m, doc_)
#define KILN_MEMBER_POSITIVE_AS(name, m, doc_)                                         \
    KILN_MEMBER_ROW(name, m, KILN_MEMBER_ONLY(m, double, KILN_RECORD_POSITIVE), doc_,  \
                    .of = NULL)
#define KILN_MEMBER_POSITIVE(m, doc_) KILN_MEMBER_POSITIVE_AS(#m, m, doc_)
#define KILN_MEMBER_WORD(m, words, doc_)                                               \
    KILN_MEMBER_ROW(#m, m, KILN_MEMBER_ONLY(m, const char *, KILN_RECORD_WORD), doc_,  \
                    .word = (words))
#define KILN_MEMBER_ENUM(m, type, words, doc_)                                         \
    KILN_MEMBER_ROW(#m, m, KILN_MEMBER_ONLY(m, type, KILN_RECORD_ENUM), doc_,          \
                    .word = (words))
#define KILN_MEMBER_JSON(m, doc_)                                                      \
    KILN_MEMBER_ROW(#m, m, KILN_MEMBER_ONLY(m, const char *, KILN_RECORD_JSON), doc_,  \
                    .of = NULL)
#define KILN_MEMBER_OBJECT(name, m, table, doc_)                                       \
    KILN_MEMBER_ROW(name, m, KILN_RECORD_OBJECT, doc_, .of = &(table))
/* There is one where the bool `has_m` says so; else null. */
#define KILN_MEMBER_OPTIONAL(name, m, table, doc_)                                     \
    KILN_MEMBER_ROW(name, m, KILN_RECORD_OBJECT, doc_, .of = &(table),                 \
                    .has_offset = offsetof(T, has_##m))
#define KILN_MEMBER_PART(m, table)                                                     \
    KILN_MEMBER_ROW(NULL, m, KILN_RECORD_PART, NULL, .of = &(table))
#define KILN_MEMBER_LIST(name, m, table, doc_)                                         \
    KILN_MEMBER_ROW(name, m, KILN_RECORD_LIST, doc_, .of = &(table))
#define KILN_MEMBER_ROWS(name, m, table, doc_)                                         \
    KILN_MEMBER_ROW(name, m, KILN_RECORD_ROWS, doc_, .of = &(table))
#define KILN_MEMBER_NUMBERS(name, m, doc_)                                             \
    KILN_MEMBER_ROW(name, m, KILN_RECORD_NUMBERS, doc_, .of = NULL)
#define KILN_MEMBER_TEXTS(name, m, doc_)                                               \
    KILN_MEMBER_ROW(name, m, KILN_RECORD_TEXTS, doc_, .of = NULL)
/* A table of the rows, defined by this name. */
#define KILN_RECORD(name, rows, title_)                                                \
    const kiln_record_table name = {(title_), (rows),                                  \
                                    sizeof(rows) / sizeof((rows)[0]), sizeof(T)};
/* The same, for this file alone. (clang-format 14 loses its way behind a `static` in
 * front of a macro.) */
#define KILN_RECORD_STATIC(name, rows, title_) static KILN_RECORD(name, rows, title_)

/* ---- documents ------------------------------------------------------------------- */

typedef struct kiln_record_document {
    const char *format_key, *format; /* its first member: "schema", "kiln-results-1" */
    const kiln_record_table *table;
    const char *docs; /* "docs/results-json.md" */
    const char *what; /* "a results.json of 'kiln nightly'" */
    /* A list without an object around it: the table's only member. Such a document has
     * no format. */
    bool is_list;
} kiln_record_document;

/* The document and a newline. Equal structs give equal bytes. */
void kiln_record_write(kiln_buf *out, const kiln_record_document *d, const void *from);
/* An object that stands in some other document. */
void kiln_record_put(kiln_json_writer *w, const kiln_record_table *t, const void *from);

enum { KILN_RECORD_MAX_ITEMS = 1 << 20 }; /* of all lists of a document together */
/* Whatever the file says ends in a message that names the member by its path
 * (KILN_ERR_PARSE, KILN_ERR_LIMIT), or in a struct whose every number is one. Members
 * that are not known are refused, members that are missing are "not known". */
kiln_status kiln_record_read(kiln_arena *a, const char *path,
                             const kiln_record_document *d, void *out, kiln_err *err);
/* The same of a text; `name` is for messages. */
kiln_status kiln_record_parse(kiln_arena *a, kiln_str text, const char *name,
                              const kiln_record_document *d, void *out, kiln_err *err);

/* Tables of its members, as Markdown: its own, and every table that they lead to, in
 * the order met. */
void kiln_record_markdown(kiln_buf *out, const kiln_record_document *d);

/* Any KILN_VEC, at `p`: the bytes of all of them are alike. */
typedef KILN_VEC(unsigned char) kiln_record_list;
kiln_record_list kiln_record_list_at(const void *p);

#endif
