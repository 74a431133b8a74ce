/* Schedules: one stage per compute, loops as the axes stand, everything at root. */
#include "compiler/schedule/schedule_internal.h"

#include <string.h>

kiln_iter *kiln_iter_make(kiln_stage *st, const char *name, kiln_iter_kind kind,
                          int64_t extent) {
    KILN_ASSERT(extent >= 0, "loop '%s' of stage '%s' has a negative extent", name,
                st->te->name);
    kiln_arena *a = st->schedule->arena;
    kiln_iter *x = kiln_new(a, kiln_iter);
    x->name = name;
    x->kind = kind;
    x->extent = extent;
    x->var = kiln_var_new(a, name, KILN_I64);
    return x;
}

static void add_root(kiln_stage *st, const kiln_axis *axis) {
    kiln_arena *a = st->schedule->arena;
    int64_t extent = 0;
    const bool is_const = kiln_x_is_int(axis->extent, &extent);
    KILN_ASSERT(is_const, "axis '%s' of stage '%s' has no constant extent", axis->name,
                st->te->name);
    kiln_iter *x = kiln_iter_make(
        st, axis->name, axis->is_reduce ? KILN_ITER_REDUCE : KILN_ITER_SPATIAL, extent);
    kiln_vec_push(a, &st->root, x);
    kiln_vec_push(a, &st->leaf, x);
}

/* The stage computes `te` from here on, with untouched loops. */
void kiln_stage_set_te(kiln_stage *st, const kiln_te *te) {
    st->te = te;
    st->root.n = 0;
    st->leaf.n = 0;
    st->unit = NULL;
    if (te->kind != KILN_TE_COMPUTE)
        return; /* an extern stage's loops are its own */
    for (int i = 0; i < te->rank; i++)
        add_root(st, te->axis[i]);
    for (int i = 0; i < te->n_reduce; i++)
        add_root(st, te->reduce[i]);
}

kiln_stage *kiln_stage_make(kiln_schedule *s, const kiln_te *te) {
    kiln_stage *st = kiln_new(s->arena, kiln_stage);
    st->schedule = s;
    st->origin = te;
    st->attach = KILN_ATTACH_ROOT;
    st->scope = KILN_SCOPE_GLOBAL;
    kiln_stage_set_te(st, te);
    return st;
}

void kiln_schedule_insert(kiln_schedule *s, size_t at, kiln_stage *st) {
    KILN_ASSERT(at <= s->stage.n && st->schedule == s,
                "stage '%s' is put behind the end, or into another's schedule",
                st->te->name);
    kiln_vec_push(s->arena, &s->stage, st);
    for (size_t i = s->stage.n - 1; i > at; i--)
        s->stage.v[i] = s->stage.v[i - 1];
    s->stage.v[at] = st;
}

size_t kiln_stage_position(const kiln_stage *st) {
    const kiln_schedule *s = st->schedule;
    size_t i = 0;
    while (i < s->stage.n && s->stage.v[i] != st)
        i++;
    KILN_ASSERT(i < s->stage.n, "stage '%s' is not in its schedule", st->te->name);
    return i;
}

kiln_schedule *kiln_schedule_new(kiln_arena *a, const kiln_te *const *out,
                                 size_t n_out) {
    KILN_ASSERT(n_out > 0, "a schedule of nothing");
    kiln_schedule *s = kiln_new(a, kiln_schedule);
    s->arena = a;
    s->out = kiln_array(a, const kiln_te *, n_out);
    s->n_out = n_out;
    for (size_t i = 0; i < n_out; i++)
        s->out[i] = out[i];
    size_t n = 0;
    const kiln_te **te = kiln_te_topo(a, out, n_out, &n);
    for (size_t i = 0; i < n; i++) {
        if (te[i]->kind == KILN_TE_PLACEHOLDER)
            continue;
        kiln_stage *st = kiln_stage_make(s, te[i]);
        for (size_t k = 0; k < n_out; k++)
            st->is_output = st->is_output || out[k] == te[i];
        kiln_vec_push(a, &s->stage, st);
    }
    return s;
}

kiln_stage *kiln_schedule_of(const kiln_schedule *s, const kiln_te *te) {
    for (size_t i = 0; i < s->stage.n; i++)
        if (s->stage.v[i]->origin == te)
            return s->stage.v[i];
    return NULL;
}

kiln_stage *kiln_schedule_stage(kiln_schedule *s, const kiln_te *te) {
    kiln_stage *st = kiln_schedule_of(s, te);
    KILN_ASSERT(st != NULL, "'%s' has no stage in this schedule", te->name);
    return st;
}

kiln_stage *kiln_schedule_find(kiln_schedule *s, const char *name) {
    for (size_t i = 0; i < s->stage.n; i++)
        if (strcmp(s->stage.v[i]->te->name, name) == 0)
            return s->stage.v[i];
    return NULL;
}

kiln_target_kind kiln_schedule_target(const kiln_schedule *s) {
    kiln_target_kind kind = KILN_TARGET_CPU;
    for (size_t i = 0; i < s->stage.n; i++) {
        const kiln_stage *st = s->stage.v[i];
        if (st->scope >= KILN_SCOPE_TARGET)
            return KILN_TARGET_ACCELERATOR;
        if (st->scope == KILN_SCOPE_SHARED)
            kind = KILN_TARGET_GPU;
        for (size_t k = 0; k < st->leaf.n; k++)
            if (st->leaf.v[k]->loop == KILN_LOOP_THREAD)
                kind = KILN_TARGET_GPU;
    }
    return kind;
}

kiln_iter *kiln_stage_axis(kiln_stage *st, int i) {
    KILN_ASSERT(i >= 0 && i < st->te->rank, "stage '%s' has no axis %d", st->te->name,
                i);
    return st->root.v[i];
}

kiln_iter *kiln_stage_reduce(kiln_stage *st, int i) {
    KILN_ASSERT(i >= 0 && i < st->te->n_reduce, "stage '%s' has no reduction axis %d",
                st->te->name, i);
    return st->root.v[st->te->rank + i];
}
