/* A model's inputs as its file declares them, and what the caller says of them. And the operators that kiln does not read,
 * listed all at once. */
#ifndef KILN_COMPILER_FRONTEND_FRONTEND_INPUTS_H
#define KILN_COMPILER_FRONTEND_FRONTEND_INPUTS_H

#include "compiler/frontend/import_cx.h"

/* What shapes a format lets its inputs have. */
typedef struct kiln_input_rules {
    /* May input i have that shape? NULL: it keeps the declared rank and its static
     * dimensions. Its dimensions are then what holds where the caller gives none. */
    bool (*may_have)(const void *user, size_t i, int rank, const int64_t *dim);
    const void *user;
    const char *remedy; /* for messages, what may differ; NULL: dynamic dimensions */
} kiln_input_rules;

/* Makes an input of cx->graph of each of in[n], or a constant where the caller fixes its
 * value; out[n] are their values, in the same order (NULL where it fails for open
 * ones). A dynamic dimension with a name (in[i].symbol) that is bound once is bound
 * everywhere. Dimensions that stay open are named all at once, with what to bind
 * (report->n_unbound). Names must be there and differ. `o` may be NULL. */
kiln_status kiln_import_bind_by(kiln_import_cx *cx, const kiln_import_options *o,
                                const kiln_declared_input *in, size_t n,
                                const kiln_input_rules *rules,
                                kiln_import_report *report, kiln_value **out);
/* The same by the declared shapes; `is_default`: ranks are kept alone, and the file's
 * shape is what holds where the caller gives none. */
kiln_status kiln_import_bind_inputs(kiln_import_cx *cx, const kiln_import_options *o,
                                    const kiln_declared_input *in, size_t n,
                                    bool is_default, kiln_import_report *report,
                                    kiln_value **out);
/* Is one of the words, which a NULL ends, in the name (NULL: it has none), whatever the
 * case? A word of one letter must be all of it. */
bool kiln_import_has_word(const char *name, const char *const *word);
/* Is an input without any shape called as what training sets once for all elements, such
 * as "keep_prob" or "is_training"? *value: what it is where nothing is trained. */
bool kiln_import_is_setting(const kiln_declared_input *in, int64_t *value);
/* KILN_ERR_ARG where one input is given two shapes, or two values: which of them is
 * meant? Of any format; kiln_import asks it. */
kiln_status kiln_import_check_options(const kiln_import_options *o, kiln_err *err);

/* One more node of an operator that is not read. `op` and `node` are printable. */
void kiln_import_add_unread(kiln_import_cx *cx, kiln_import_report *report,
                            const char *op, const char *node);
/* KILN_ERR_UNSUPPORTED where there was one: "2 layers are not read: Foo (3 times, first
 * in node 'a'), ...; <remedy>". `what`: "layer", "operator". */
kiln_status kiln_import_check_unread(kiln_import_cx *cx,
                                     const kiln_import_report *report, const char *what,
                                     const char *remedy);

/* Names inside a Graph are the file's own bytes, and messages of its parts carry them:
 * control characters of a failure's text become '?'. */
void kiln_import_make_printable(kiln_err *err);

/* Is `part`, which is not empty, anywhere in the text? For sniffing. */
bool kiln_import_holds(kiln_str text, const char *part);

/* One more node of an operator in a survey, counted by its name, which must outlive it. */
void kiln_survey_add_op(kiln_arena *a, kiln_model_survey *s, const char *op,
                        bool is_read);
/* A size that weights speak of, each once, if an input may have it. */
void kiln_survey_add_size(kiln_arena *a, kiln_model_survey *s, int64_t size);
/* By name. */
void kiln_survey_sort_ops(kiln_model_survey *s);

#endif
