/* Extern stages; see op_extern.h. */
#include "compiler/op/op_extern.h"

/* ---- stages ---------------------------------------------------------------------- */

kiln_dtype kiln_compute_wide_dtype(kiln_dtype dtype) {
    return dtype == KILN_F16 || dtype == KILN_BF16 ? KILN_F32 : dtype;
}

kiln_status kiln_compute_stretched(kiln_compute_cx *cx, const char *suffix,
                                   const kiln_te_value *v, const kiln_type *shape,
                                   kiln_dtype dtype, kiln_te_value *out) {
    KILN_ASSERT(shape->rank >= v->type.rank, "rank %d is stretched to %d", v->type.rank,
                shape->rank);
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_type t = kiln_type_make(dtype, shape->rank, shape->dim);
    *out = *v;
    if (kiln_layout_is_plain(&v->type.layout) && v->te->n_out == 1 &&
        v->type.dtype == dtype && kiln_type_same_shape(&v->type, &t))
        return KILN_OK;
    kiln_te *te = kiln_compute_begin(cx, suffix, &t, index);
    for (int i = 0; i < v->type.rank; i++)
        at[i] = v->type.dim[i] == 1 ? kiln_x_index(cx->arena, 0)
                                    : index[t.rank - v->type.rank + i];
    const kiln_expr *x = kiln_compute_read_value(cx, v, at);
    return kiln_compute_inner(cx, te, &t, kiln_x_cast(cx->arena, dtype, x), out);
}

kiln_status kiln_compute_plain(kiln_compute_cx *cx, const char *suffix,
                               const kiln_te_value *v, kiln_dtype dtype,
                               kiln_te_value *out) {
    KILN_ASSERT(v->te != NULL, "'%s' lays out what no stage computes", cx->node->name);
    return kiln_compute_stretched(cx, suffix, v, &v->type, dtype, out);
}

void kiln_compute_extern(kiln_compute_cx *cx, const char *suffix,
                         const kiln_extern_spec *spec, kiln_te_value *out) {
    KILN_ASSERT(spec->build != NULL && spec->n_out > 0,
                "extern stage '%s' is built by nobody", spec->name);
    KILN_ASSERT(spec->n_in >= 0 && spec->n_in <= KILN_MAX_AXES,
                "extern stage '%s' reads %d values", spec->name, spec->n_in);
    kiln_arena *a = cx->arena;
    const kiln_te *in[KILN_MAX_AXES];
    kiln_extern *ext = kiln_new(a, kiln_extern);
    *ext = (kiln_extern){.name = spec->name, .build = spec->build, .data = spec->data};
    for (int i = 0; i < spec->n_in; i++) {
        KILN_ASSERT(spec->in[i].te != NULL,
                    "extern stage '%s' reads nothing as its %d.", spec->name, i);
        in[i] = spec->in[i].te;
    }
    const char *name = kiln_format(a, "%s.%s", cx->node->name, suffix);
    const kiln_te *te = kiln_te_extern(a, name, spec->rank, spec->dim, spec->n_in, in,
                                       spec->n_out, spec->dtype, ext);
    for (int k = 0; k < spec->n_out; k++)
        out[k] = (kiln_te_value){
            .te = te,
            .out = k,
            .type = kiln_type_make(spec->dtype[k], spec->rank, spec->dim)};
}

kiln_status kiln_compute_give(kiln_compute_cx *cx, int k, const char *suffix,
                              const kiln_te_value *v) {
    KILN_ASSERT(v->te != NULL && k >= 0 && k < cx->node->n_out,
                "'%s' gives output %d, which no stage computes", cx->node->name, k);
    const kiln_expr *index[KILN_MAX_RANK];
    const kiln_type *t = &cx->out[k].type;
    if (v->type.dtype == t->dtype && kiln_layout_eq(&v->type.layout, &t->layout)) {
        cx->out[k].te = v->te;
        cx->out[k].out = v->out;
        return KILN_OK;
    }
    kiln_te *te = kiln_compute_begin(cx, suffix, t, index);
    return kiln_compute_end(cx, k, te, kiln_compute_read_value(cx, v, index));
}

/* ---- loop programs --------------------------------------------------------------- */

kiln_nest_loops kiln_loops_new(kiln_arena *a, int n, const int64_t *extent) {
    KILN_ASSERT(n >= 0 && n <= KILN_MAX_AXES, "a nest of %d loops", n);
    static const char *const name[KILN_MAX_AXES] = {
        "i0", "i1", "i2",  "i3",  "i4",  "i5",  "i6",  "i7",
        "i8", "i9", "i10", "i11", "i12", "i13", "i14", "i15"};
    kiln_nest_loops l = {.a = a, .n = n};
    for (int i = 0; i < n; i++) {
        KILN_ASSERT(extent[i] >= 0, "loop %d runs %lld times", i, (long long)extent[i]);
        l.extent[i] = extent[i];
        l.var[i] = kiln_var_new(a, name[i], KILN_I64);
        l.index[i] = kiln_x_ref(a, l.var[i]);
    }
    return l;
}

const kiln_stmt *kiln_loops_around(const kiln_nest_loops *l, const kiln_stmt *body) {
    KILN_ASSERT(body != NULL, "%d loops around nothing", l->n);
    for (int i = l->n - 1; i >= 0; i--)
        body = kiln_s_for(
            l->a, l->var[i], kiln_x_index(l->a, 0), kiln_x_index(l->a, l->extent[i]),
            i == 0 && l->is_parallel ? KILN_LOOP_PARALLEL : KILN_LOOP_SERIAL, NULL,
            body);
    return body;
}

const kiln_stmt *kiln_s_times(kiln_arena *a, const kiln_var *v, const kiln_expr *n,
                              const kiln_stmt *body) {
    return kiln_s_for(a, v, kiln_x_index(a, 0), n, KILN_LOOP_SERIAL, NULL, body);
}

const kiln_stmt *kiln_s_both(kiln_arena *a, const kiln_stmt *x, const kiln_stmt *y) {
    const kiln_stmt *const both[] = {x, y};
    return kiln_s_seq(a, both, 2);
}

const kiln_expr *kiln_lets_add(kiln_lets *l, const char *name, const kiln_expr *value) {
    KILN_ASSERT(l->n < KILN_MAX_LETS, "no room for '%s'", name);
    KILN_ASSERT(value != NULL, "'%s' is let be nothing", name);
    l->var[l->n] = kiln_var_new(l->a, name, value->dtype);
    l->value[l->n] = value;
    return kiln_x_ref(l->a, l->var[l->n++]);
}

const kiln_stmt *kiln_lets_around(const kiln_lets *l, const kiln_stmt *body) {
    KILN_ASSERT(body != NULL, "%d names for nothing", l->n);
    for (int i = l->n - 1; i >= 0; i--)
        body = kiln_s_let(l->a, l->var[i], l->value[i], body);
    return body;
}

const kiln_buffer *kiln_cell_new(kiln_arena *a, const kiln_te *te, const char *name,
                                 kiln_dtype dtype) {
    const int64_t one = 1;
    kiln_buffer *b = kiln_buffer_new(a, kiln_format(a, "%s.%s", te->name, name), dtype,
                                     1, &one, KILN_SCOPE_REGISTER);
    b->arg = -1;
    return b;
}

const kiln_expr *kiln_cell_get(kiln_arena *a, const kiln_buffer *cell) {
    KILN_ASSERT(cell->rank == 1, "'%s' is no single cell", cell->name);
    const kiln_expr *zero = kiln_x_index(a, 0);
    return kiln_x_load(a, cell, &zero, 1, NULL);
}

const kiln_stmt *kiln_cell_set(kiln_arena *a, const kiln_buffer *cell,
                               const kiln_expr *value) {
    KILN_ASSERT(cell->rank == 1, "'%s' is no single cell", cell->name);
    const kiln_expr *zero = kiln_x_index(a, 0);
    return kiln_s_store(a, cell, &zero, value, NULL);
}

const kiln_expr *kiln_x_clamped(kiln_arena *a, const kiln_expr *index, int64_t extent) {
    index = kiln_x_binary(a, KILN_EXPR_MIN, index, kiln_x_index(a, extent - 1));
    return kiln_x_binary(a, KILN_EXPR_MAX, index, kiln_x_index(a, 0));
}
