/* Races: for each element of shared memory, who wrote it last and who read it since.
 *
 * Accesses of one block are ordered by barriers, which the phase counts; those of two
 * blocks by nothing. Of readers, two are enough to remember: whoever writes next is not
 * both of them. */
#include "compiler/loop/fragment.h"
#include "compiler/loop/loop_threads.h"

#include <inttypes.h>

kiln_shadow kiln_shadow_make(kiln_arena *a, const kiln_buffer *b) {
    return (kiln_shadow){.cell = kiln_array(a, kiln_cell, kiln_buffer_elems(b)),
                         .phases = b->scope == KILN_SCOPE_SHARED ? KILN_PHASES_SHARED
                                                                 : KILN_PHASES_GLOBAL};
}

/* "s[3, 1]" */
static const char *element(kiln_interp *in, const kiln_interp_memory *m, int64_t at) {
    kiln_buf text;
    kiln_buf_init(&text, in->arena);
    kiln_buf_printf(&text, "'%s'[", m->buffer->name);
    for (int i = 0; i < m->buffer->rank; i++) {
        kiln_buf_printf(&text, "%s%" PRId64, i > 0 ? ", " : "", at / m->stride[i]);
        at %= m->stride[i];
    }
    kiln_buf_puts(&text, "]");
    return text.p;
}

/* "thread (1, 0, 0)" of number 1, ..., or "block (0, 2, 0)". */
static const char *who(const kiln_launch *l, kiln_launch_axis first, uint32_t number) {
    const int64_t *n = l->extent + first;
    const int64_t k = (int64_t)number - 1;
    return kiln_format(l->in->arena, "%s (%" PRId64 ", %" PRId64 ", %" PRId64 ")",
                       first == KILN_AXIS_BLOCK_X ? "block" : "thread", k % n[0],
                       k / n[0] % n[1], k / n[0] / n[1]);
}

typedef struct access {
    kiln_launch *l;
    const kiln_interp_memory *m;
    int64_t at;
    bool writes;
    uint32_t block, thread, phase;
} access;

static bool race(const access *x, uint32_t block, uint32_t thread, bool wrote) {
    kiln_interp *in = x->l->in;
    const char *where = kiln_interp_where(in);
    const char *what = element(in, x->m, x->at), *does = x->writes ? "writes" : "reads";
    const char *did = wrote ? "wrote" : "read";
    const char *me = who(x->l, KILN_AXIS_THREAD_X, x->thread);
    const char *other = who(x->l, KILN_AXIS_THREAD_X, thread);
    const char *my_block = who(x->l, KILN_AXIS_BLOCK_X, x->block);
    if (block == x->block)
        in->status = kiln_fail(in->err, KILN_ERR_ARG,
                               "race: %s of %s %s %s, which %s %s with no barrier "
                               "between%s",
                               me, my_block, does, what, other, did, where);
    else
        in->status = kiln_fail(in->err, KILN_ERR_ARG,
                               "race: %s of %s %s %s, which %s of %s %s, and blocks do "
                               "not wait for each other%s",
                               me, my_block, does, what, other,
                               who(x->l, KILN_AXIS_BLOCK_X, block), did, where);
    return false;
}

static bool before_reading(const access *x, const kiln_cell *c) {
    const bool is_mine = c->write_block == x->block &&
                         (c->write_phase != x->phase || c->write_thread == x->thread);
    return c->write_block == 0 || is_mine ||
           race(x, c->write_block, c->write_thread, true);
}

static bool before_writing(const access *x, const kiln_cell *c) {
    if (!before_reading(x, c))
        return false;
    if (c->other_block != 0 && c->other_block != x->block)
        return race(x, c->other_block, c->other_thread, false);
    if (c->read_block == 0)
        return true;
    if (c->read_block != x->block)
        return race(x, c->read_block, c->read_thread[0], false);
    for (int i = 0; i < 2; i++)
        if (c->read_phase == x->phase && c->read_thread[i] != 0 &&
            c->read_thread[i] != x->thread)
            return race(x, c->read_block, c->read_thread[i], false);
    return true;
}

static void note_read(const access *x, kiln_cell *c) {
    if (c->read_block == x->block && c->read_phase == x->phase) {
        if (c->read_thread[0] != x->thread && c->read_thread[1] == 0)
            c->read_thread[1] = x->thread;
        return;
    }
    if (c->read_block != x->block && c->read_block != 0) {
        c->other_block = c->read_block;
        c->other_thread = c->read_thread[0];
    }
    c->read_block = x->block;
    c->read_phase = x->phase;
    c->read_thread[0] = x->thread;
    c->read_thread[1] = 0;
}

static bool never_written(const access *x) {
    kiln_interp *in = x->l->in;
    in->status = kiln_fail(in->err, KILN_ERR_ARG,
                           "%s of %s reads %s, which nobody has written yet%s",
                           who(x->l, KILN_AXIS_THREAD_X, x->thread),
                           who(x->l, KILN_AXIS_BLOCK_X, x->block),
                           element(in, x->m, x->at), kiln_interp_where(in));
    return false;
}

/* Nobody has waited for the copy that brings it. */
static bool on_its_way(const access *x) {
    kiln_interp *in = x->l->in;
    in->status = kiln_fail(
        in->err, KILN_ERR_ARG,
        "%s of %s %s %s, which is still being copied: no barrier has "
        "waited for it%s",
        who(x->l, KILN_AXIS_THREAD_X, x->thread),
        who(x->l, KILN_AXIS_BLOCK_X, x->block), x->writes ? "writes" : "reads",
        element(in, x->m, x->at), kiln_interp_where(in));
    return false;
}

/* Does the thread hold that element of its warp's fragment? */
static bool holds(const access *x, kiln_fragment_form form) {
    kiln_interp *in = x->l->in;
    const int64_t *at = x->l->thread[x->thread - 1].at;
    const int holder =
        kiln_fragment_thread(x->at / form.row, x->at % form.row, form.warps);
    if (at[KILN_AXIS_THREAD_X] == holder)
        return true;
    in->status = kiln_fail(in->err, KILN_ERR_ARG,
                           "%s of %s %s %s of a fragment, which thread (%d, %" PRId64
                           ", %" PRId64 ") holds%s",
                           who(x->l, KILN_AXIS_THREAD_X, x->thread),
                           who(x->l, KILN_AXIS_BLOCK_X, x->block),
                           x->writes ? "writes" : "reads", element(in, x->m, x->at),
                           holder, at[KILN_AXIS_THREAD_Y], at[KILN_AXIS_THREAD_Z],
                           kiln_interp_where(in));
    return false;
}

/* Products that nobody has waited for read it still, or add to it; those that come now take
 * their place. False: somebody else touches it. */
static bool by_products(const access *x, kiln_cell *c) {
    kiln_launch *l = x->l;
    kiln_interp *in = l->in;
    const kiln_scope scope = x->m->buffer->scope;
    if (l->multiplies && (scope == KILN_SCOPE_FRAGMENT ? x->writes : !x->writes))
        c->product = l->products + 1;
    if (l->multiplies || c->product <= l->done ||
        (scope == KILN_SCOPE_SHARED && !x->writes))
        return true;
    in->status = kiln_fail(
        in->err, KILN_ERR_ARG,
        "%s of %s %s %s, which products still %s: no barrier has waited for them%s",
        who(l, KILN_AXIS_THREAD_X, x->thread), who(l, KILN_AXIS_BLOCK_X, x->block),
        x->writes ? "writes" : "reads", element(in, x->m, x->at),
        scope == KILN_SCOPE_FRAGMENT ? "add to" : "read", kiln_interp_where(in));
    return false;
}

bool kiln_shadow_touch(kiln_interp *in, const kiln_interp_memory *m, int64_t at,
                       bool writes) {
    const kiln_shadow *s = m->shadow;
    if (s == NULL || in->launch == NULL)
        return true;
    kiln_cell *c = &s->cell[at];
    const access x = {in->launch,
                      m,
                      at,
                      writes,
                      in->launch->block,
                      (uint32_t)in->launch->self + 1,
                      in->launch->phase[s->phases]};
    if (writes ? !before_writing(&x, c) : !before_reading(&x, c))
        return false;
    if (s->form.row > 0 && !holds(&x, s->form))
        return false;
    if (!by_products(&x, c))
        return false;
    if (c->group > in->launch->arrived)
        return on_its_way(&x);
    if (!writes && s->starts_empty && !c->is_written)
        return never_written(&x);
    if (!writes) {
        note_read(&x, c);
        return true;
    }
    c->is_written = true;
    c->group = in->launch->is_async && m->buffer->scope == KILN_SCOPE_SHARED
                   ? in->launch->groups + 1
                   : 0;
    c->write_block = x.block;
    c->write_thread = x.thread;
    c->write_phase = x.phase;
    return true;
}
