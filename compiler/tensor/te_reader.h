/* The reader of tensor expressions: what parse_te.c and parse_reduce.c share. */
#ifndef KILN_COMPILER_TENSOR_TE_READER_H
#define KILN_COMPILER_TENSOR_TE_READER_H

#include "compiler/tensor/text.h"

typedef struct kiln_te_mark {
    int64_t index; /* -1: `out` alone */
    const kiln_te *te;
    const char *at;
} kiln_te_mark;

typedef struct kiln_te_reader {
    kiln_expr_reader x;
    kiln_map stages; /* name -> kiln_te */
    kiln_map vars;   /* of the stage being read */
    KILN_VEC(kiln_te_mark) outs;
} kiln_te_reader;

#define kiln_te_fail(r, at, status, ...)                                               \
    kiln_lex_fail(&(r)->x.lex, (at), (status), __VA_ARGS__)

/* Makes an axis or a variable of a reducer known by its name. */
kiln_status kiln_te_add_var(kiln_te_reader *r, const char *at, const kiln_var *v);
/* name: extent; *total becomes the product, which is limited. */
kiln_status kiln_te_read_axis(kiln_te_reader *r, const char **name, int64_t *extent,
                              int64_t *total);

/* parse_reduce.c: whether a reduction comes next. */
bool kiln_te_is_reduction(const kiln_te_reader *r);
/* first: that of output 0; NULL: this is it, and its axes become the stage's. */
kiln_status kiln_te_read_reduction(kiln_te_reader *r, kiln_te *te,
                                   const kiln_reduction *first, const kiln_expr **out);

#endif
