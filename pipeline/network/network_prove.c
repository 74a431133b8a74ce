/* A trace against the graph, step by step: see network_prove.h. */
#include "pipeline/network/prove_internal.h"
#include "pipeline/kernels/kernels_compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Only the first problem is told: what comes after it may follow from it. */
void kiln_prover_problem(kiln_prover *p, const char *text) {
    if (p->proof->problem[0] != '\0')
        return;
    p->proof->problem = text;
    p->proof->step = p->step;
}

static const kiln_net_step *step_at(const kiln_prover *p, int step) {
    return &p->net->step.v[step];
}

/* How the step in hand has the operand. */
static kiln_type operand_type(const kiln_prover *p, int operand) {
    const kiln_net_step *s = step_at(p, p->step);
    if (s->kind == KILN_NET_CALL)
        return p->n->kernel.v[s->kernel].operand[operand];
    return kiln_net_type_of(&p->net->slot.v[s->operand[operand]]);
}

static const char *name_of(const kiln_prover *p, int operand) {
    const kiln_net_step *s = step_at(p, p->step);
    return p->net->slot.v[s->operand[operand]].value->name;
}

/* ---- bytes ----------------------------------------------------------------------- */

/* Zero of either sign, which is as good for who relies on it: -0 is what a product with
 * a negative factor leaves. */
static bool is_zero(kiln_dtype dtype, const unsigned char *element) {
    const size_t size = kiln_dtype_bytes(dtype);
    for (size_t i = 0; i + 1 < size; i++)
        if (element[i] != 0)
            return false;
    const unsigned char last = element[size - 1];
    return last == 0 || (last == 0x80 && kiln_dtype_is_float(dtype));
}

static bool are_tails_zero(kiln_arena *scratch, const kiln_type *t,
                           const unsigned char *stored) {
    const size_t size = kiln_dtype_bytes(t->dtype);
    const size_t bytes = (size_t)kiln_type_bytes(t);
    const size_t plain = (size_t)kiln_type_elems(t) * size;
    unsigned char *ones = kiln_arena_alloc_raw(scratch, plain + 1);
    unsigned char *is_lane = kiln_arena_alloc_raw(scratch, bytes + 1);
    memset(ones, 0xFF, plain);
    kiln_layout_pack(t, ones, is_lane);
    for (size_t i = 0; i < bytes; i += size)
        if (is_lane[i] == 0 && !is_zero(t->dtype, stored + i))
            return false;
    return true;
}

/* Row-major bytes of an operand; a type of its own. */
static kiln_tensor unpacked(kiln_arena *a, const kiln_type *t, const void *data) {
    const kiln_type plain = kiln_type_make(t->dtype, t->rank, t->dim);
    kiln_tensor out = kiln_tensor_new(a, &plain);
    kiln_layout_unpack(t, data, out.data);
    return out;
}

static double element(kiln_arena *scratch, const kiln_tensor *t, int64_t i) {
    const int64_t one = 1;
    const kiln_type type = kiln_type_make(t->type.dtype, 1, &one);
    kiln_wide w = kiln_wide_new(scratch, &type);
    kiln_widen(&type,
               (const char *)t->data + (size_t)i * kiln_dtype_bytes(t->type.dtype), &w);
    return w.f != NULL ? w.f[0] : (double)w.i[0];
}

/* The first element that is not the same bit by bit, zeros of either sign apart; -1:
 * none. */
static int64_t first_difference(const kiln_tensor *x, const kiln_tensor *y) {
    const size_t size = kiln_dtype_bytes(x->type.dtype);
    const int64_t n = kiln_type_elems(&x->type);
    const unsigned char *a = x->data, *b = y->data;
    if (memcmp(a, b, (size_t)n * size) == 0)
        return -1;
    for (int64_t i = 0; i < n; i++, a += size, b += size)
        if (memcmp(a, b, size) != 0 &&
            !(is_zero(x->type.dtype, a) && is_zero(x->type.dtype, b)))
            return i;
    return -1;
}

static void check_same(kiln_prover *p, const kiln_tensor *got, const kiln_tensor *want,
                       const char *does, int operand) {
    const int64_t at = first_difference(got, want);
    if (at >= 0)
        kiln_prover_problem(p, kiln_format(p->arena,
                                           "step '%s' %s '%s' wrongly: element %" PRId64
                                           " is %.9g, must be %.9g",
                                           step_at(p, p->step)->name, does,
                                           name_of(p, operand), at,
                                           element(&p->scratch, got, at),
                                           element(&p->scratch, want, at)));
}

/* Zero times an infinity is NaN: where fast numerics meet one, tail lanes are as lost
 * as the elements beside them. */
static bool is_lost(const kiln_prover *p, const kiln_tensor *value) {
    kiln_arena a = {0};
    bool any = false;
    if (p->n->profile->numerics == KILN_NUMERICS_STRICT ||
        !kiln_dtype_is_float(value->type.dtype))
        return false;
    kiln_wide w = kiln_wide_new(&a, &value->type);
    kiln_widen(&value->type, value->data, &w);
    for (int64_t i = 0; i < kiln_type_elems(&value->type) && !any; i++)
        any = !isfinite(w.f[i]);
    kiln_arena_fini(&a);
    return any;
}

static void check_tails(kiln_prover *p, const kiln_type *t, const kiln_tensor *value,
                        const void *data, const char *does, int operand) {
    if ((t->facts & KILN_FACT_TAIL_ZERO) != 0 && kiln_type_has_tails(t) &&
        !are_tails_zero(&p->scratch, t, data) && !is_lost(p, value))
        kiln_prover_problem(
            p, kiln_format(p->arena,
                           "step '%s' %s '%s' with tail lanes that are not "
                           "zero",
                           step_at(p, p->step)->name, does, name_of(p, operand)));
}

/* ---- what is read ---------------------------------------------------------------- */

/* What an IF has read decides where the run goes on. */
static void remember_branch(kiln_prover *p, const kiln_prover_record *r) {
    p->branch = r->step;
    p->is_taken = *(const unsigned char *)r->data != 0;
}

static void check_branch(kiln_prover *p, int step) {
    const int from = p->branch;
    p->branch = -1;
    if (from < 0)
        return;
    const int other = step_at(p, from)->partner, end = step_at(p, other)->partner;
    const bool is_wrong =
        p->is_taken ? step > other && step < end : step > from && step < other;
    if (is_wrong)
        kiln_prover_problem(p, kiln_format(p->arena,
                                           "step '%s' goes into the branch that its "
                                           "condition does not choose",
                                           step_at(p, from)->name));
}

static kiln_status take_read(kiln_prover *p, const kiln_prover_record *r,
                             kiln_err *err) {
    const kiln_net_step *s = step_at(p, r->step);
    const int slot = s->operand[r->operand];
    const kiln_type t = operand_type(p, r->operand);
    kiln_tensor want;
    bool is_known = false;
    if (kiln_net_is_param(p->net, slot))
        return KILN_OK; /* results of those who read it show whether it is right */
    const kiln_tensor got = unpacked(&p->scratch, &t, r->data);
    KILN_TRY(kiln_prover_value(p, slot, &want, &is_known, err));
    if (!is_known) /* of a loop whose later iterations were not seen */
        kiln_prover_put(p, slot, &got);
    else
        check_same(p, &got, &want, "reads", r->operand);
    check_tails(p, &t, &got, r->data, "reads", r->operand);
    if (s->kind == KILN_NET_IF)
        remember_branch(p, r);
    return KILN_OK;
}

/* ---- what is written ------------------------------------------------------------- */

/* The step's nodes as a graph, with the values it has read. */
static kiln_status expect_group(kiln_prover *p, const kiln_net_step *s, kiln_err *err) {
    const kiln_value **from = NULL;
    kiln_arena *a = &p->scratch;
    kiln_graph *part = kiln_group_graph(a, s->g, s->group, &from);
    kiln_tensor *plain = kiln_array(a, kiln_tensor, part->values.n);
    kiln_workload work;
    for (size_t i = 0; i < part->inputs.n; i++)
        for (int k = 0; k < s->n_read; k++) {
            bool is_known = false;
            const int id = part->inputs.v[i]->id;
            if (s->value[k] != from[id])
                continue;
            KILN_TRY(kiln_prover_value(p, s->operand[k], &plain[id], &is_known, err));
            plain[id].type = part->inputs.v[i]->type;
        }
    p->n_want = (int)part->outputs.n;
    p->want = kiln_array(a, kiln_expected, part->outputs.n);
    KILN_TRY(kiln_workload_of(part, &work, err));
    return kiln_expect(a, part, work.anchor, plain,
                       p->n->kernel.v[s->kernel].amplification,
                       p->seed + (uint64_t)p->step, p->want, err);
}

/* Once for all that the step writes. An operator that has no bound is left to who looks
 * at the network's outputs, and counted. */
static kiln_status expect(kiln_prover *p, const kiln_net_step *s, kiln_err *err) {
    kiln_err own = {0};
    p->is_expected = true;
    p->n_want = 0;
    const kiln_status st = expect_group(p, s, &own);
    if (st == KILN_OK)
        return KILN_OK;
    if (st != KILN_ERR_UNSUPPORTED && st != KILN_ERR_LIMIT) {
        *err = own;
        return st;
    }
    p->n_want = 0;
    if (!p->is_seen[p->step])
        p->proof->n_unknown++;
    if (p->proof->unknown == NULL)
        p->proof->unknown = kiln_format(p->arena, "step '%s': %s", s->name, own.text);
    return KILN_OK;
}

static void compare(kiln_prover *p, int output, const kiln_tensor *got, int operand) {
    kiln_verdict v = {.ok = true, .problem = ""};
    kiln_expected_compare(&p->scratch, &p->want[output], got, name_of(p, operand), &v);
    p->proof->n_checked += v.n_checked;
    if (!v.ok)
        kiln_prover_problem(p, kiln_format(p->arena, "step '%s' is wrong: %s",
                                           step_at(p, p->step)->name, v.problem));
}

static kiln_status check_written(kiln_prover *p, const kiln_prover_record *r,
                                 const kiln_tensor *got, kiln_err *err) {
    const kiln_net_step *s = step_at(p, r->step);
    if (s->group != NULL) {
        if (!p->is_expected)
            KILN_TRY(expect(p, s, err));
        const int output = r->operand - s->n_read;
        if (output < p->n_want)
            compare(p, output, got, r->operand);
        kiln_prover_put(p, s->operand[r->operand], got);
        return KILN_OK;
    }
    kiln_tensor want;
    KILN_TRY(kiln_prover_moved(p, s, r->iteration, &want, err));
    check_same(p, got, &want, "writes", r->operand);
    p->proof->n_checked += kiln_type_elems(&got->type);
    if (s->kind == KILN_NET_PUT)
        kiln_prover_put_element(p, s->operand[r->operand], got, r->iteration);
    else
        kiln_prover_put(p, s->operand[r->operand], got);
    return KILN_OK;
}

static kiln_status take_written(kiln_prover *p, const kiln_prover_record *r,
                                kiln_err *err) {
    const kiln_net_step *s = step_at(p, r->step);
    const kiln_type t = operand_type(p, r->operand);
    kiln_tensor got;
    if (s->kind == KILN_NET_PUT) /* the rest of it is whoever wrote that */
        got = kiln_prover_element(p, r->data, s->operand[0], r->iteration);
    else
        got = unpacked(&p->scratch, &t, r->data);
    check_tails(p, &t, &got, r->data, "writes", r->operand);
    p->proof->n_elems += kiln_type_elems(&got.type);
    KILN_TRY(check_written(p, r, &got, err));
    if (r->operand + 1 < s->n_operands)
        return KILN_OK;
    if (!p->is_seen[r->step])
        p->proof->n_proved += s->group == NULL || p->n_want > 0;
    p->is_seen[r->step] = true;
    return KILN_OK;
}

/* ---- records --------------------------------------------------------------------- */

static bool fits(const kiln_prover *p, const kiln_prover_record *r) {
    if (r->step < 0 || (size_t)r->step >= p->net->step.n)
        return false;
    const kiln_net_step *s = step_at(p, r->step);
    if (r->kind == KILN_TRACE_END)
        return s->kind == KILN_NET_END;
    if (r->operand < 0 || r->operand >= s->n_operands ||
        (r->operand < s->n_read) != (r->kind == KILN_TRACE_READ))
        return false;
    const int slot = s->operand[r->operand];
    return r->bytes ==
           (kiln_net_is_param(p->net, slot) ? 0 : (size_t)p->net->slot.v[slot].bytes);
}

static void begin_step(kiln_prover *p, int step) {
    kiln_arena_reset(&p->scratch);
    kiln_prover_forget(p, step);
    p->step = step;
    p->is_expected = false;
    p->n_want = 0;
}

kiln_status kiln_prover_take(kiln_prover *p, const kiln_prover_record *r,
                             kiln_err *err) {
    if (p->proof->problem[0] != '\0')
        return KILN_OK;
    if (!fits(p, r))
        return kiln_fail(err, KILN_ERR_BUG,
                         "the trace has operand %d of step %d with %zu bytes, which is "
                         "none of '%s'",
                         r->operand, r->step, r->bytes, p->n->name);
    check_branch(p, r->step);
    if (r->step != p->step || r->operand == 0)
        begin_step(p, r->step);
    if (r->kind == KILN_TRACE_END) {
        kiln_prover_lose(p, step_at(p, r->step)->partner, r->step);
        return KILN_OK;
    }
    return r->kind == KILN_TRACE_READ ? take_read(p, r, err) : take_written(p, r, err);
}

/* ---- all ------------------------------------------------------------------------- */

static bool is_work(const kiln_net_step *s) {
    return s->kind == KILN_NET_CALL || s->kind == KILN_NET_COPY ||
           s->kind == KILN_NET_TAKE || s->kind == KILN_NET_PUT;
}

bool kiln_network_is_work(const kiln_network *n, int step) {
    KILN_ASSERT(step >= 0 && (size_t)step < n->net->step.n,
                "step %d of %zu is asked for", step, n->net->step.n);
    return is_work(&n->net->step.v[step]);
}

kiln_prover *kiln_prover_new(kiln_arena *a, const kiln_network *n,
                             const kiln_tensor *in, uint64_t seed,
                             kiln_network_proof *out) {
    kiln_prover *p = kiln_new(a, kiln_prover);
    *out = (kiln_network_proof){.problem = "", .step = -1};
    *p = (kiln_prover){.arena = a,
                       .n = n,
                       .net = n->net,
                       .proof = out,
                       .seed = seed,
                       .step = -1,
                       .branch = -1,
                       .is_seen = kiln_array(a, bool, n->net->step.n + 1)};
    out->is_seen = p->is_seen;
    for (size_t i = 0; i < n->net->step.n; i++)
        out->n_steps += is_work(&n->net->step.v[i]);
    kiln_prover_begin(p, in);
    return p;
}

void kiln_prover_end(kiln_prover *p) {
    int depth = 0;
    for (size_t i = 0; i < p->net->step.n; i++) {
        const kiln_net_step *s = &p->net->step.v[i];
        depth += s->kind == KILN_NET_IF || s->kind == KILN_NET_LOOP;
        depth -= s->kind == KILN_NET_END;
        if (depth > 0 || !is_work(s) || p->is_seen[i])
            continue;
        p->step = (int)i;
        kiln_prover_problem(p, kiln_format(p->arena, "step '%s' did not run", s->name));
    }
    kiln_prover_release(p);
    kiln_arena_fini(&p->scratch);
}
