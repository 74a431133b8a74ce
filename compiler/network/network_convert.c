/* Which tensor holds a value in a wanted layout: the one that was made, another that
 * lies the same, a constant packed so, or what a conversion makes. */
#include "compiler/network/executable_internal.h"
#include "base/fault.h"
#include "compiler/network/network_pack.h"

/* The kernel that makes slot `to` of slot `from`, as elements of `dtype`, chosen by
 * `how`; NULL: by the rule of the host's templates. */
static kiln_status make_conversion(kiln_net *n, const kiln_value *v, kiln_dtype dtype,
                                   int from, int to, const kiln_choose_options *how,
                                   const char *name, int *kernel, kiln_err *err) {
    kiln_scheduled s;
    kiln_graph *g = NULL;
    kiln_net_work w;
    kiln_type t = v->type;
    t.dtype = dtype;
    t.layout = n->slot.v[from].layout;
    t.facts = n->slot.v[from].facts;
    KILN_TRY(kiln_pack_graph(&n->walk->scratch, &t, n->slot.v[to].packing,
                             &n->slot.v[to].layout, &g, err));
    KILN_TRY(how != NULL ? kiln_net_choose(n, g, how, &w, err)
                         : kiln_net_choose_for_host(n, g, &w, err));
    KILN_TRY(kiln_net_make_kernel(n, &w, name, &s, kernel, err));
    n->slot.v[to].facts = s.te.arg_type[s.te.n_inputs].facts;
    return KILN_OK;
}

static kiln_status convert(kiln_net *n, const kiln_value *v, int from, int to,
                           kiln_err *err) {
    int kernel = 0;
    const kiln_type lies = kiln_net_type_of(&n->slot.v[from]),
                    wanted = kiln_net_type_of(&n->slot.v[to]);
    if (n->walk->notes == NULL) /* not of what is but tried */
        KILN_LOG(DEBUG, "layout",
                 "'%s%s' is converted: it lies as %s, who reads it takes %s",
                 n->walk->path, v->name, kiln_type_text(&n->walk->scratch, &lies),
                 kiln_type_text(&n->walk->scratch, &wanted));
    const char *name = kiln_format(n->arena, "convert %s%s", n->walk->path, v->name);
    kiln_choose_options how = *kiln_net_choose_options(n);
    how.oracle = NULL; /* it knows what conversions cost; there is nothing to choose */
    KILN_TRY(make_conversion(n, v, v->type.dtype, from, to, &how, name, &kernel, err));
    kiln_net_add_copy(n, KILN_NET_CALL, from, to, v->name);
    kiln_net_step *step = &n->step.v[n->step.n - 1];
    step->kernel = kernel;
    step->op = "convert";
    step->name = name;
    n->n_conversions++;
    return KILN_OK;
}

/* The same constant: regions have values of their own for what they share. */
static bool is_same(const kiln_value *x, const kiln_value *y) {
    return x == y || (kiln_value_is_const(x) && x->data == y->data &&
                      kiln_type_eq(&x->type, &y->type));
}

/* May who wants that layout, and zeros in its tail lanes, read the slot as it is? */
static bool suits(const kiln_net_slot *s, const kiln_op_def *packing,
                  const kiln_type *wanted) {
    return s->packing == packing && kiln_layout_eq(&s->layout, &wanted->layout) &&
           ((wanted->facts & KILN_FACT_TAIL_ZERO) == 0 ||
            !kiln_type_has_tails(wanted) || (s->facts & KILN_FACT_TAIL_ZERO) != 0);
}

static int find_slot(const kiln_net *n, const kiln_value *v, const kiln_op_def *packing,
                     const kiln_type *wanted) {
    for (size_t i = 0; i < n->slot.n; i++)
        if (is_same(n->slot.v[i].value, v) && n->slot.v[i].place != KILN_NET_OUTPUT &&
            !n->slot.v[i].is_alone && suits(&n->slot.v[i], packing, wanted))
            return (int)i;
    return -1;
}

/* A constant's tensor, in PARAM or PACKED memory. */
static int add_constant(kiln_net *n, kiln_net_place place, kiln_net_slot s) {
    s.place = place;
    s.facts = KILN_FACT_TAIL_ZERO; /* as they are packed */
    return kiln_net_add_slot(n, &s);
}

/* A constant as the model has it, row-major; once. */
static int plain_param(kiln_net *n, const kiln_value *v) {
    const kiln_type plain = kiln_type_make(v->type.dtype, v->type.rank, v->type.dim);
    const int known = find_slot(n, v, NULL, &plain);
    const kiln_net_slot s = {
        .bytes = kiln_type_bytes(&plain), .view_of = -1, .value = v};
    return known >= 0 ? known : add_constant(n, KILN_NET_PARAM, s);
}

/* An open step that packs the constant: by the templates' own rules, since nobody
 * measures what is done once. Floats of 16 bits are moved as integers: kernels hold
 * them in f32, where NaN would lose bits. */
static kiln_status pack_at_open(kiln_net *n, const kiln_value *v, int from,
                                const kiln_net_slot *packed, int *slot, kiln_err *err) {
    int kernel = 0, *operand = kiln_array(n->arena, int, 2);
    operand[0] = n->open.n > 0 && KILN_FAULT(open_param)
                     ? n->open.v[n->open.n - 1].operand[0]
                     : from;
    operand[1] = *slot = add_constant(n, KILN_NET_PACKED, *packed);
    const bool is_half = v->type.dtype == KILN_F16 || v->type.dtype == KILN_BF16;
    const char *name = kiln_format(n->arena, "pack %s%s", n->walk->path, v->name);
    KILN_TRY(make_conversion(n, v, is_half ? KILN_U16 : v->type.dtype, from, *slot,
                             NULL, name, &kernel, err));
    const kiln_net_step step = {.kind = KILN_NET_CALL,
                                .kernel = kernel,
                                .operand = operand,
                                .n_operands = 2,
                                .n_read = 1,
                                .name = name,
                                .op = "pack"};
    kiln_vec_push(n->arena, &n->open, step);
    return KILN_OK;
}

/* The constant's slot in the layout of `s`. */
static kiln_status param_like(kiln_net *n, const kiln_value *v, kiln_net_slot s,
                              int *slot, kiln_err *err) {
    if (n->o == NULL || !n->o->pack_at_open || s.bytes == 0) {
        *slot = add_constant(n, KILN_NET_PARAM, s);
        return KILN_OK;
    }
    const int plain = plain_param(n, v);
    if (s.packing != NULL ||
        !kiln_net_same_places(&v->type, &n->slot.v[plain].layout, &s.layout))
        return pack_at_open(n, v, plain, &s, slot, err);
    *slot = plain;
    if (kiln_layout_eq(&n->slot.v[plain].layout, &s.layout))
        return KILN_OK;
    s.view_of = plain;
    s.facts = KILN_FACT_TAIL_ZERO;
    *slot = kiln_net_add_slot(n, &s);
    return KILN_OK;
}

kiln_status kiln_net_slot_like(kiln_net *n, const kiln_value *v,
                               const kiln_op_def *packing, const kiln_type *wanted,
                               int *slot, kiln_err *err) {
    const int made = n->walk->slot_of[v->id];
    *slot = made >= 0 && suits(&n->slot.v[made], packing, wanted)
                ? made
                : find_slot(n, v, packing, wanted);
    if (*slot >= 0)
        return KILN_OK;
    kiln_net_slot s = {.place = KILN_NET_ARENA,
                       .bytes = kiln_type_bytes(wanted),
                       .view_of = -1,
                       .layout = wanted->layout,
                       .packing = packing,
                       .value = v};
    if (kiln_value_is_const(v))
        return param_like(n, v, s, slot, err);
    KILN_ASSERT(made >= 0 && packing == NULL, "'%s' is read before it is made",
                v->name);
    const bool is_view =
        kiln_net_same_places(&v->type, &n->slot.v[made].layout, &wanted->layout);
    s.view_of = is_view ? made : -1;
    s.facts = is_view ? n->slot.v[made].facts : 0;
    if (is_view && suits(&s, NULL, wanted)) {
        *slot = kiln_net_add_slot(n, &s);
        return KILN_OK;
    }
    s.view_of = -1;
    *slot = kiln_net_add_slot(n, &s);
    return convert(n, v, made, *slot, err);
}

kiln_status kiln_net_slot_as(kiln_net *n, const kiln_value *v,
                             const kiln_layout *layout, int *slot, kiln_err *err) {
    kiln_type wanted = v->type;
    wanted.layout = *layout;
    wanted.facts = 0;
    return kiln_net_slot_like(n, v, NULL, &wanted, slot, err);
}
