/* Schedules out of text: a primitive a line, done as it is read (docs/schedule-text.md).
 *
 * A row says what stands behind a word, one letter each:
 *
 *   s  a stage, by its name            l  a loop of the stage named last
 *   L  such loops, one or more         S  stages, as many as there are
 *   t  a tensor that some stage reads  m  a memory: global, local, register, shared, fragment, scopeN
 *   n  a number                        o  a number, or none
 *   w  a word */
#include <inttypes.h>
#include <string.h>

#include "compiler/loop/tensor_intrin.h"
#include "compiler/schedule/schedule_internal.h"

/* Beyond what anybody writes; each step may copy every stage. */
enum { MAX_STEPS = 512, MAX_NAMED = 64 };

/* One line, as far as it was read. */
typedef struct step {
    kiln_schedule *s;
    kiln_lexer lex;
    kiln_stage *stage[MAX_NAMED];
    int n_stages;
    kiln_iter *loop[MAX_NAMED];
    int n_loops;
    const kiln_te *tensor;
    kiln_scope scope;
    int64_t number[3];
    int n_numbers;
    const char *word;
    kiln_err *err;
} step;

/* ---- primitives ------------------------------------------------------------------ */

static kiln_status split(step *p) {
    kiln_iter *outer, *inner;
    return kiln_split(p->stage[0], p->loop[0], p->number[0], &outer, &inner, p->err);
}

static kiln_status split_parts(step *p) {
    kiln_iter *outer, *inner;
    return kiln_split_parts(p->stage[0], p->loop[0], p->number[0], &outer, &inner,
                            p->err);
}

static kiln_status fuse(step *p) {
    kiln_iter *fused;
    return kiln_fuse(p->stage[0], p->loop[0], p->loop[1], &fused, p->err);
}

static kiln_status unit_loop(step *p) {
    kiln_iter *unit;
    return kiln_unit_loop(p->stage[0], &unit, p->err);
}

static kiln_status reorder(step *p) {
    return kiln_reorder(p->stage[0], p->loop, (size_t)p->n_loops, p->err);
}

static kiln_status vectorize(step *p) {
    return kiln_vectorize(p->stage[0], p->loop[0], p->err);
}

static kiln_status unroll(step *p) {
    return kiln_unroll(p->stage[0], p->loop[0], p->err);
}

static kiln_status parallel(step *p) {
    return kiln_parallel(p->stage[0], p->loop[0], p->err);
}

static kiln_status bind(step *p) {
    return kiln_bind(p->stage[0], p->loop[0], p->word, p->err);
}

static kiln_status vthread(step *p) {
    return kiln_vthread(p->stage[0], p->loop[0], p->err);
}

static kiln_status pragma(step *p) {
    return kiln_pragma(p->stage[0], p->loop[0], p->word, p->err);
}

static kiln_status prefetch(step *p) {
    const kiln_ahead ahead = {.iterations = p->number[0]};
    return kiln_prefetch(p->stage[0], p->tensor, p->loop[0], &ahead, p->err);
}

static kiln_status prefetch_steps(step *p) {
    const kiln_ahead ahead = {.elems = p->number[0], .step_elems = p->number[1]};
    return kiln_prefetch(p->stage[0], p->tensor, p->loop[0], &ahead, p->err);
}

static kiln_status tensorize(step *p) {
    const kiln_tensor_intrin *intrin = kiln_tensor_intrin_find(kiln_str_from(p->word));
    kiln_buf known;
    if (intrin != NULL)
        return kiln_tensorize(p->stage[0], p->loop[0], intrin, (int)p->number[0],
                              p->err);
    kiln_buf_init(&known, p->lex.arena);
    for (int i = 0; kiln_tensor_intrin_at(i) != NULL; i++)
        kiln_buf_printf(&known, "%s%s", i > 0 ? ", " : "",
                        kiln_tensor_intrin_at(i)->name);
    return kiln_fail(
        p->err, KILN_ERR_ARG, "there is no tensor intrinsic '%s'; there are %s",
        kiln_str_printable(p->lex.arena, kiln_str_from(p->word), 60), known.p);
}

static kiln_status compute_at(step *p) {
    return kiln_compute_at(p->stage[0], p->stage[1], p->loop[0], p->err);
}

static kiln_status compute_inline(step *p) {
    return kiln_compute_inline(p->stage[0], p->err);
}

static kiln_status compute_root(step *p) {
    return kiln_compute_root(p->stage[0], p->err);
}

static kiln_status cache_read(step *p) {
    kiln_stage *made;
    return kiln_cache_read(p->s, p->tensor, p->scope, p->stage, (size_t)p->n_stages,
                           &made, p->err);
}

static kiln_status cache_write(step *p) {
    kiln_stage *made;
    return kiln_cache_write(p->stage[0], p->scope, &made, p->err);
}

static kiln_status set_scope(step *p) {
    return kiln_set_scope(p->stage[0], p->scope, p->err);
}

static kiln_status storage_align(step *p) {
    return kiln_storage_align(p->stage[0], (int)p->number[0], (int32_t)p->number[1],
                              (int32_t)p->number[2], p->err);
}

static kiln_status double_buffer(step *p) {
    return kiln_double_buffer(p->stage[0], p->err);
}

static kiln_status rfactor(step *p) {
    kiln_stage *made;
    return p->n_numbers == 0 ? kiln_rfactor(p->stage[0], p->loop[0], &made, p->err)
                             : kiln_rfactor_axis(p->stage[0], p->loop[0],
                                                 (int)p->number[0], &made, p->err);
}

static const struct primitive {
    const char *word, *takes;
    kiln_status (*apply)(step *p);
} primitives[] = {
    {"split", "sln", split},
    {"split_parts", "sln", split_parts},
    {"fuse", "sll", fuse},
    {"unit_loop", "s", unit_loop},
    {"reorder", "sL", reorder},
    {"vectorize", "sl", vectorize},
    {"unroll", "sl", unroll},
    {"parallel", "sl", parallel},
    {"bind", "slw", bind},
    {"vthread", "sl", vthread},
    {"pragma", "slw", pragma},
    {"prefetch", "sltn", prefetch},
    {"prefetch_steps", "sltnn", prefetch_steps},
    {"tensorize", "slwn", tensorize},
    {"compute_at", "ssl", compute_at},
    {"compute_inline", "s", compute_inline},
    {"compute_root", "s", compute_root},
    {"cache_read", "tmS", cache_read},
    {"cache_write", "sm", cache_write},
    {"set_scope", "sm", set_scope},
    {"storage_align", "snnn", storage_align},
    {"double_buffer", "s", double_buffer},
    {"rfactor", "slo", rfactor},
};

/* ---- what stands behind the word ------------------------------------------------- */

static const char *shown(const step *p, const char *name) {
    return kiln_str_printable(p->lex.arena, kiln_str_from(name), 60);
}

static kiln_status read_stage(step *p) {
    const char *const at = kiln_lex_here(&p->lex);
    const char *name;
    kiln_buf names;
    KILN_TRY(kiln_lex_name(&p->lex, "a stage", &name));
    kiln_stage *st = kiln_schedule_find(p->s, name);
    if (st != NULL && p->n_stages < MAX_NAMED) {
        p->stage[p->n_stages++] = st;
        return KILN_OK;
    }
    if (st != NULL)
        return kiln_lex_fail(&p->lex, at, KILN_ERR_LIMIT, "a line may name %d stages",
                             MAX_NAMED);
    kiln_buf_init(&names, p->lex.arena);
    for (size_t i = 0; i < p->s->stage.n; i++)
        kiln_buf_printf(&names, "%s%s", i > 0 ? ", " : "",
                        shown(p, p->s->stage.v[i]->te->name));
    return kiln_lex_fail(&p->lex, at, KILN_ERR_ARG,
                         "there is no stage '%s'; there are %s", shown(p, name),
                         names.p);
}

static kiln_status read_loop(step *p) {
    const kiln_stage *st = p->stage[p->n_stages - 1];
    const char *const at = kiln_lex_here(&p->lex);
    const char *name;
    kiln_buf names;
    KILN_TRY(kiln_lex_name(&p->lex, "a loop", &name));
    kiln_buf_init(&names, p->lex.arena);
    for (size_t i = 0; i < st->leaf.n; i++) {
        kiln_buf_printf(&names, "%s%s", i > 0 ? ", " : "",
                        shown(p, st->leaf.v[i]->name));
        if (strcmp(st->leaf.v[i]->name, name) != 0)
            continue;
        if (p->n_loops == MAX_NAMED)
            return kiln_lex_fail(&p->lex, at, KILN_ERR_LIMIT,
                                 "a line may name %d loops", MAX_NAMED);
        p->loop[p->n_loops++] = st->leaf.v[i];
        return KILN_OK;
    }
    return kiln_lex_fail(&p->lex, at, KILN_ERR_ARG,
                         "stage '%s' has no loop '%s'; it has %s", st->te->name,
                         shown(p, name), names.n > 0 ? names.p : "none");
}

static kiln_status read_tensor(step *p) {
    const char *const at = kiln_lex_here(&p->lex);
    const char *name;
    KILN_TRY(kiln_lex_name(&p->lex, "a tensor", &name));
    for (size_t i = 0; i < p->s->stage.n; i++) {
        const kiln_te *te = p->s->stage.v[i]->te;
        for (int k = 0; k < te->n_in; k++)
            if (strcmp(te->in[k]->name, name) == 0) {
                p->tensor = te->in[k];
                return KILN_OK;
            }
    }
    return kiln_lex_fail(&p->lex, at, KILN_ERR_ARG, "no stage reads '%s'",
                         shown(p, name));
}

static kiln_status read_memory(step *p) {
    const char *const at = kiln_lex_here(&p->lex);
    const char *name;
    KILN_TRY(kiln_lex_name(&p->lex, "a memory", &name));
    /* A host's programs have device memory, not a stage. */
    return kiln_scope_find(kiln_str_from(name), &p->scope) &&
                   p->scope != KILN_SCOPE_DEVICE
               ? KILN_OK
               : kiln_lex_fail(&p->lex, at, KILN_ERR_ARG,
                               "there is no memory '%s'; there are global, local, "
                               "register, shared, fragment, and scope16 to scope255 of "
                               "targets",
                               shown(p, name));
}

static bool is_at_end(step *p) { return kiln_lex_peek(&p->lex, 0) == '\0'; }

static kiln_status read_part(step *p, char what) {
    switch (what) {
    case 's':
        return read_stage(p);
    case 'l':
        return read_loop(p);
    case 't':
        return read_tensor(p);
    case 'm':
        return read_memory(p);
    case 'w':
        return kiln_lex_name(&p->lex, "a word", &p->word);
    case 'L':
        do {
            KILN_TRY(read_loop(p));
        } while (!is_at_end(p));
        return KILN_OK;
    case 'S':
        while (!is_at_end(p))
            KILN_TRY(read_stage(p));
        return KILN_OK;
    case 'o':
        if (is_at_end(p))
            return KILN_OK;
        return read_part(p, 'n');
    default:
        KILN_ASSERT(what == 'n', "a primitive takes no '%c'", what);
        return kiln_lex_int(&p->lex, "a number", -INT32_MAX, INT32_MAX,
                            &p->number[p->n_numbers++]);
    }
}

static kiln_status read_step(step *p) {
    const char *const at = kiln_lex_here(&p->lex);
    const struct primitive *row = NULL;
    kiln_str word;
    if (!kiln_lex_bare(&p->lex, &word))
        return kiln_lex_expected(&p->lex, "a primitive");
    for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++)
        if (kiln_str_is(word, primitives[i].word))
            row = &primitives[i];
    if (row == NULL)
        return kiln_lex_fail(&p->lex, at, KILN_ERR_PARSE, "there is no primitive '%s'",
                             kiln_str_printable(p->lex.arena, word, 60));
    for (const char *what = row->takes; *what != '\0'; what++)
        KILN_TRY(read_part(p, *what));
    if (!is_at_end(p) || p->lex.rest.n > 0)
        return kiln_lex_expected(&p->lex, "the end of the line");
    const kiln_status st = row->apply(p);
    return st == KILN_OK ? st : kiln_lex_note(&p->lex, at, st);
}

kiln_status kiln_schedule_read(kiln_schedule *s, kiln_str text, const char *file,
                               kiln_err *err) {
    kiln_str rest = text, line;
    kiln_err unused = {0};
    err = err != NULL ? err : &unused;
    for (int n = 0; kiln_str_cut(&rest, '\n', &line);) {
        step p = {
            .s = s, .lex = kiln_lexer_make(s->arena, text, file, err), .err = err};
        p.lex.rest = line;
        if (is_at_end(&p) && p.lex.rest.n == 0)
            continue;
        if (++n > MAX_STEPS)
            return kiln_lex_fail(&p.lex, line.p, KILN_ERR_LIMIT,
                                 "a schedule may have %d steps", MAX_STEPS);
        KILN_TRY(read_step(&p));
    }
    return KILN_OK;
}
