/* Schedules as text, for people: where each stage is computed, and its loops. */
#include "compiler/schedule/schedule.h"

#include <inttypes.h>

#include "compiler/loop/tensor_intrin.h"

/* Names come from models: what is no bare name is quoted. */
static void put_name(kiln_buf *out, const char *name) {
    kiln_buf_name(out, name, NULL);
}

static void put_scope(kiln_buf *out, kiln_scope scope) {
    if (kiln_scope_name(scope) != NULL)
        kiln_buf_printf(out, ", %s", kiln_scope_name(scope));
    else
        kiln_buf_printf(out, ", scope%d", (int)scope);
}

static void put_prefetch(kiln_buf *out, const struct kiln_prefetch *p) {
    kiln_buf_printf(out, ", prefetch %s ", p->te->name);
    if (p->ahead.step_elems > 0)
        kiln_buf_printf(out, "in steps of %" PRId64, p->ahead.step_elems);
    else
        kiln_buf_printf(out, "%" PRId64 " ahead", p->ahead.iterations);
    kiln_buf_printf(out, " at %s", p->iter->name);
}

static void put_place(kiln_buf *out, const kiln_stage *st) {
    switch (st->attach) {
    case KILN_ATTACH_ROOT:
        kiln_buf_puts(out, " at root");
        break;
    case KILN_ATTACH_INLINE:
        kiln_buf_puts(out, " inlined");
        return;
    case KILN_ATTACH_AT:
        kiln_buf_puts(out, " at ");
        put_name(out, st->at_iter->name);
        kiln_buf_puts(out, " of ");
        put_name(out, st->at_stage->te->name);
        break;
    }
    put_scope(out, st->scope);
    for (int i = 0; i < st->te->rank; i++)
        if (st->align[i].factor > 1)
            kiln_buf_printf(out, ", align %s to %" PRId32 "n + %" PRId32,
                            st->te->axis[i]->name, st->align[i].factor,
                            st->align[i].offset);
    if (st->double_buffer)
        kiln_buf_puts(out, ", double buffer");
    if (st->copies > 2)
        kiln_buf_printf(out, " of %d", st->copies);
    if (st->is_async)
        kiln_buf_puts(out, " async");
    if (st->multiplies)
        kiln_buf_printf(out, ", products %d behind", st->behind);
    for (size_t i = 0; i < st->prefetch.n; i++)
        put_prefetch(out, &st->prefetch.v[i]);
    if (st->is_output)
        kiln_buf_puts(out, ", output");
}

/* Does the last of its iterations leave a part of the inner loop over? */
static bool has_tail(const kiln_iter *x) {
    const kiln_iter *p = x->split_parent;
    return p != NULL && p->split_outer == x && p->extent % p->split_factor != 0;
}

static void put_loop(kiln_buf *out, const kiln_stage *st, const kiln_iter *x) {
    static const char *const word[] = {
        [KILN_LOOP_SERIAL] = "",
        [KILN_LOOP_PARALLEL] = " parallel",
        [KILN_LOOP_VECTORIZED] = " vectorized",
        [KILN_LOOP_UNROLLED] = " unroll",
        [KILN_LOOP_THREAD] = " thread",
        [KILN_LOOP_VTHREAD] = " vthread",
    };
    kiln_buf_printf(out, "%s%s %" PRId64 "%s%s",
                    x->kind == KILN_ITER_REDUCE ? "reduce " : "", x->name, x->extent,
                    has_tail(x) ? " with tail" : "", word[x->loop]);
    if (x->tag != NULL) {
        kiln_buf_puts(out, " ");
        kiln_buf_quote(out, x->tag);
    }
    if (x->pragma != NULL) {
        kiln_buf_puts(out, " pragma ");
        kiln_buf_quote(out, x->pragma);
    }
    if (st->tensor != NULL && st->tensor_iter == x)
        kiln_buf_printf(out, " tensorize %s of %d lanes", st->tensor->name,
                        st->tensor_lanes);
}

void kiln_schedule_print(kiln_buf *out, const kiln_schedule *s) {
    for (size_t i = 0; i < s->stage.n; i++) {
        const kiln_stage *st = s->stage.v[i];
        kiln_buf_puts(out, "stage ");
        put_name(out, st->te->name);
        put_place(out, st);
        kiln_buf_puts(out, "\n");
        if (st->attach == KILN_ATTACH_INLINE || st->leaf.n == 0)
            continue;
        for (size_t k = 0; k < st->leaf.n; k++) {
            kiln_buf_puts(out, k == 0 ? "  " : ", ");
            put_loop(out, st, st->leaf.v[k]);
        }
        kiln_buf_puts(out, "\n");
    }
}
