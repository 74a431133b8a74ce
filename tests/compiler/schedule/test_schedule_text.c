/* Schedules by example: golden/text/<case>.txt holds tensor expressions, a line
 * `schedule` with the primitives behind it, and what the schedule and the program that
 * it lowers to print. Primitives are written as
 *
 *     split STAGE LOOP FACTOR            split_parts STAGE LOOP PARTS
 *     fuse STAGE OUTER INNER             reorder STAGE LOOP LOOP...
 *     vectorize | unroll | parallel | vthread STAGE LOOP
 *     bind | pragma STAGE LOOP WORD      prefetch STAGE LOOP READ OFFSET
 *     prefetch_steps STAGE LOOP READ ELEMENTS STEP
 *     at STAGE CONSUMER LOOP             inline | double_buffer STAGE
 *     read READ SCOPE | write STAGE SCOPE | rfactor STAGE LOOP
 *     align STAGE AXIS FACTOR OFFSET     tensorize STAGE LOOP NAME LANES */
#include "compiler/loop/tensor_intrin.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { MAX_WORDS = 8 };

typedef struct scene {
    kiln_arena *a;
    kiln_schedule *s;
    const kiln_te **te; /* all stages of the expression */
    size_t n_te;
    char *word[MAX_WORDS]; /* of the line being applied */
    int n_words;
    kiln_err err;
} scene;

static kiln_stage *stage(scene *c, int i) {
    kiln_stage *st = i < c->n_words ? kiln_schedule_find(c->s, c->word[i]) : NULL;
    if (st == NULL)
        fail_msg("%s: word %d is no stage", c->word[0], i);
    return st;
}

static kiln_iter *loop(scene *c, kiln_stage *st, int i) {
    for (size_t k = 0; i < c->n_words && k < st->leaf.n; k++)
        if (strcmp(st->leaf.v[k]->name, c->word[i]) == 0)
            return st->leaf.v[k];
    fail_msg("%s: stage '%s' has no loop '%s'", c->word[0], st->te->name,
             i < c->n_words ? c->word[i] : "");
    return NULL;
}

static const kiln_te *expression(scene *c, int i) {
    for (size_t k = 0; i < c->n_words && k < c->n_te; k++)
        if (strcmp(c->te[k]->name, c->word[i]) == 0)
            return c->te[k];
    fail_msg("%s: word %d is no expression", c->word[0], i);
    return NULL;
}

static int64_t number(scene *c, int i) {
    int64_t v = 0;
    assert_true(i < c->n_words && kiln_parse_i64(kiln_str_from(c->word[i]), &v));
    return v;
}

static kiln_scope scope(scene *c, int i) {
    static const char *const word[] = {"global", "local", "register", "shared"};
    for (int k = 0; i < c->n_words && k < 4; k++)
        if (strcmp(word[k], c->word[i]) == 0)
            return (kiln_scope)k;
    fail_msg("%s: word %d is no scope", c->word[0], i);
    return KILN_SCOPE_GLOBAL;
}

/* ---- primitives ------------------------------------------------------------------ */

static kiln_status split(scene *c) {
    kiln_iter *o, *i;
    return kiln_split(stage(c, 1), loop(c, stage(c, 1), 2), number(c, 3), &o, &i,
                      &c->err);
}
static kiln_status split_parts(scene *c) {
    kiln_iter *o, *i;
    return kiln_split_parts(stage(c, 1), loop(c, stage(c, 1), 2), number(c, 3), &o, &i,
                            &c->err);
}
static kiln_status fuse(scene *c) {
    kiln_iter *f;
    kiln_stage *st = stage(c, 1);
    return kiln_fuse(st, loop(c, st, 2), loop(c, st, 3), &f, &c->err);
}
static kiln_status reorder(scene *c) {
    kiln_iter *order[MAX_WORDS];
    kiln_stage *st = stage(c, 1);
    for (int i = 2; i < c->n_words; i++)
        order[i - 2] = loop(c, st, i);
    return kiln_reorder(st, order, (size_t)(c->n_words - 2), &c->err);
}
static kiln_status vectorize(scene *c) {
    return kiln_vectorize(stage(c, 1), loop(c, stage(c, 1), 2), &c->err);
}
static kiln_status unroll(scene *c) {
    return kiln_unroll(stage(c, 1), loop(c, stage(c, 1), 2), &c->err);
}
static kiln_status parallel(scene *c) {
    return kiln_parallel(stage(c, 1), loop(c, stage(c, 1), 2), &c->err);
}
static kiln_status vthread(scene *c) {
    return kiln_vthread(stage(c, 1), loop(c, stage(c, 1), 2), &c->err);
}
static kiln_status bind(scene *c) {
    return kiln_bind(stage(c, 1), loop(c, stage(c, 1), 2), c->word[3], &c->err);
}
static kiln_status pragma(scene *c) {
    return kiln_pragma(stage(c, 1), loop(c, stage(c, 1), 2), c->word[3], &c->err);
}
static kiln_status prefetch(scene *c) {
    const kiln_ahead ahead = {.iterations = number(c, 4)};
    return kiln_prefetch(stage(c, 1), expression(c, 3), loop(c, stage(c, 1), 2), &ahead,
                         &c->err);
}
static kiln_status prefetch_steps(scene *c) {
    const kiln_ahead ahead = {.elems = number(c, 4), .step_elems = number(c, 5)};
    return kiln_prefetch(stage(c, 1), expression(c, 3), loop(c, stage(c, 1), 2), &ahead,
                         &c->err);
}
static kiln_status at(scene *c) {
    return kiln_compute_at(stage(c, 1), stage(c, 2), loop(c, stage(c, 2), 3), &c->err);
}
static kiln_status inlined(scene *c) {
    return kiln_compute_inline(stage(c, 1), &c->err);
}
static kiln_status double_buffer(scene *c) {
    return kiln_double_buffer(stage(c, 1), &c->err);
}
static kiln_status cache_read(scene *c) {
    kiln_stage *made;
    return kiln_cache_read(c->s, expression(c, 1), scope(c, 2), NULL, 0, &made,
                           &c->err);
}
static kiln_status cache_write(scene *c) {
    kiln_stage *made;
    return kiln_cache_write(stage(c, 1), scope(c, 2), &made, &c->err);
}
static kiln_status rfactor(scene *c) {
    kiln_stage *made;
    return kiln_rfactor(stage(c, 1), loop(c, stage(c, 1), 2), &made, &c->err);
}
static kiln_status align(scene *c) {
    return kiln_storage_align(stage(c, 1), (int)number(c, 2), (int32_t)number(c, 3),
                              (int32_t)number(c, 4), &c->err);
}
static kiln_status tensorize(scene *c) {
    const kiln_tensor_intrin *intrin =
        kiln_tensor_intrin_find(kiln_str_from(c->word[3]));
    assert_non_null(intrin);
    return kiln_tensorize(stage(c, 1), loop(c, stage(c, 1), 2), intrin,
                          (int)number(c, 4), &c->err);
}

static const struct {
    const char *word;
    kiln_status (*apply)(scene *c);
} primitives[] = {
    {"split", split},
    {"split_parts", split_parts},
    {"fuse", fuse},
    {"reorder", reorder},
    {"vectorize", vectorize},
    {"unroll", unroll},
    {"parallel", parallel},
    {"vthread", vthread},
    {"bind", bind},
    {"pragma", pragma},
    {"prefetch", prefetch},
    {"at", at},
    {"prefetch_steps", prefetch_steps},
    {"inline", inlined},
    {"double_buffer", double_buffer},
    {"read", cache_read},
    {"write", cache_write},
    {"rfactor", rfactor},
    {"align", align},
    {"tensorize", tensorize},
};

static void apply(scene *c, kiln_str line) {
    kiln_str word;
    c->n_words = 0;
    while (kiln_str_cut(&line, ' ', &word) && c->n_words < MAX_WORDS)
        if (word.n > 0)
            c->word[c->n_words++] = kiln_str_dupv(c->a, word);
    if (c->n_words == 0)
        return;
    for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++)
        if (strcmp(primitives[i].word, c->word[0]) == 0) {
            kiln_assert_status_ok(primitives[i].apply(c), &c->err);
            return;
        }
    fail_msg("there is no primitive '%s'", c->word[0]);
}

/* ---- the check ------------------------------------------------------------------- */

/* Placeholders, then outputs, in the order of the text. */
static size_t collect_args(const scene *c, const kiln_te **outs, size_t n_outs,
                           const kiln_te **arg, size_t *n_inputs) {
    size_t n = 0;
    for (size_t i = 0; i < c->n_te; i++)
        if (c->te[i]->kind == KILN_TE_PLACEHOLDER)
            arg[n++] = c->te[i];
    *n_inputs = n;
    for (size_t i = 0; i < n_outs; i++)
        arg[n++] = outs[i];
    return n;
}

static void check(void **state) {
    kiln_arena a;
    kiln_test_golden g;
    scene c = {.a = &a};
    const kiln_te **outs = NULL, *arg[16];
    size_t n_outs = 0, n_inputs = 0;
    kiln_arena_init(&a);
    kiln_test_golden_read(*state, &g);
    const char *split_at = strstr(kiln_str_dupv(&a, g.input), "\nschedule\n");
    assert_non_null(split_at);
    kiln_str rest = kiln_str_from(split_at + 1), line;
    const kiln_str te = {g.input.p, g.input.n - rest.n};
    kiln_assert_status_ok(kiln_te_parse(&a, te, *state, &outs, &n_outs, &c.err),
                          &c.err);
    c.te = kiln_te_topo(&a, outs, n_outs, &c.n_te);
    const size_t n_args = collect_args(&c, outs, n_outs, arg, &n_inputs);
    c.s = kiln_schedule_new(&a, outs, n_outs);
    kiln_str_cut(&rest, '\n', &line);
    while (kiln_str_cut(&rest, '\n', &line))
        apply(&c, line);

    kiln_buf text;
    kiln_program *p;
    kiln_buf_init(&text, &a);
    kiln_schedule_print(&text, c.s);
    kiln_assert_status_ok(kiln_lower(&a, c.s, arg, n_args, n_inputs, "p", &p, &c.err),
                          &c.err);
    kiln_assert_status_ok(kiln_program_verify(p, &c.err), &c.err);
    kiln_program_print(&text, p);
    kiln_test_golden_check(&g, kiln_buf_str(&text));
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_golden("tests/compiler/schedule/golden/text", check);
    return kiln_test_run("schedules by example");
}
