/* Members of JSON objects, with their paths: for this folder alone. */
#ifndef KILN_PIPELINE_NIGHTLY_FIELDS_H
#define KILN_PIPELINE_NIGHTLY_FIELDS_H

#include "base/base.h"

/* Everything that is wrong with a file, a line each. */
typedef struct problems {
    kiln_arena *arena;
    const char *file; /* for people */
    KILN_VEC(const char *) line;
} problems;

/* "FILE: PATH <text>". */
void problem(problems *p, const char *path, const char *fmt, ...) KILN_PRINTF(3, 4);
/* KILN_ERR_PARSE with all lines, or KILN_OK where there are none. */
kiln_status problems_end(const problems *p, kiln_err *err);

/* An object that is being read; members that are not there give the default, and what
 * is wrong is a problem and gives the default too. */
typedef struct fields {
    problems *problems;
    const kiln_json *object; /* NULL: all members are missing */
    const char *path;        /* "models[2].tune"; "": the document */
} fields;

/* `known`: names of members, ends in NULL; others are refused. */
fields fields_open(problems *p, const kiln_json *v, const char *path,
                   const char *const *known);
/* "models[2]" and "name": "models[2].name". */
const char *fields_path(const fields *f, const char *member);
const kiln_json *fields_get(const fields *f, const char *member); /* null: NULL */

/* Not empty. NULL where it is missing. */
const char *fields_text(const fields *f, const char *member);
/* A word that can be a part of a file's name. */
const char *fields_name(const fields *f, const char *member);
bool is_name(const char *z);
/* One of the names of a table, which end in NULL. */
const char *fields_word(const fields *f, const char *member,
                        const char *(*name_at)(int i));
const char *word_of(problems *p, const char *path, const kiln_json *v,
                    const char *(*name_at)(int i));
int fields_int(const fields *f, const char *member, int min, int max, int otherwise);
double fields_number(const fields *f, const char *member, double min, double max,
                     double otherwise);
bool fields_bool(const fields *f, const char *member, bool otherwise);
/* The member's elements; NULL where it is missing or no list. */
const kiln_json *fields_list(const fields *f, const char *member);

/* A short word for a value, "'x'", "3", "a list", for messages. */
const char *shown(kiln_arena *a, const kiln_json *v);

#endif
