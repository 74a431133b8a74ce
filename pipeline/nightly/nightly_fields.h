/* Members of JSON objects, with their paths: for this folder alone. */
#ifndef KILN_PIPELINE_NIGHTLY_NIGHTLY_FIELDS_H
#define KILN_PIPELINE_NIGHTLY_NIGHTLY_FIELDS_H

#include "base/base.h"

/* Everything that is wrong with a file, a line each. */
typedef struct kiln_problems {
    kiln_arena *arena;
    const char *file; /* for people */
    KILN_VEC(const char *) line;
} kiln_problems;

/* "FILE: PATH <text>". */
void kiln_problem(kiln_problems *p, const char *path, const char *fmt, ...)
    KILN_PRINTF(3, 4);
/* KILN_ERR_PARSE with all lines, or KILN_OK where there are none. */
kiln_status kiln_problems_end(const kiln_problems *p, kiln_err *err);

/* An object that is being read; members that are not there give the default, and what
 * is wrong is a problem and gives the default too. */
typedef struct kiln_fields {
    kiln_problems *problems;
    const kiln_json *object; /* NULL: all members are missing */
    const char *path;        /* "models[2].tune"; "": the document */
} kiln_fields;

/* `known`: names of members, ends in NULL; others are refused. */
kiln_fields kiln_fields_open(kiln_problems *p, const kiln_json *v, const char *path,
                             const char *const *known);
/* "models[2]" and "name": "models[2].name". */
const char *kiln_fields_path(const kiln_fields *f, const char *member);
const kiln_json *kiln_fields_get(const kiln_fields *f,
                                 const char *member); /* null: NULL */

/* Not empty. NULL where it is missing. */
const char *kiln_fields_text(const kiln_fields *f, const char *member);
/* A word that can be a part of a file's name. */
const char *kiln_fields_name(const kiln_fields *f, const char *member);
bool kiln_fields_is_name(const char *z);
/* One of the names of a table, which end in NULL. */
const char *kiln_fields_word(const kiln_fields *f, const char *member,
                             const char *(*name_at)(int i));
const char *kiln_fields_word_of(kiln_problems *p, const char *path, const kiln_json *v,
                                const char *(*name_at)(int i));
int kiln_fields_int(const kiln_fields *f, const char *member, int min, int max,
                    int otherwise);
double kiln_fields_number(const kiln_fields *f, const char *member, double min,
                          double max, double otherwise);
bool kiln_fields_bool(const kiln_fields *f, const char *member, bool otherwise);
/* The member's elements; NULL where it is missing or no list. */
const kiln_json *kiln_fields_list(const kiln_fields *f, const char *member);

/* A short word for a value, "'x'", "3", "a list", for messages. */
const char *kiln_fields_shown(kiln_arena *a, const kiln_json *v);

#endif
