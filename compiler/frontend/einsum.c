/* Einstein sums: an equation such as "ij,jk->ik" becomes products of two terms at a
 * time, by matmul where labels are summed and by mul elsewhere. `...` stands for axes
 * that broadcast. */
#include "compiler/frontend/einsum.h"

#include <inttypes.h>
#include <string.h>

enum { N_LABELS = 128 }; /* letters by their code; axes of "..." are 0, 1, ... */

/* A value whose axes carry labels. */
typedef struct term {
    kiln_value *v;
    int n;
    uint8_t label[KILN_MAX_RANK];
} term;

typedef struct labels {
    int n;
    uint8_t label[KILN_MAX_RANK];
} labels;

typedef struct einsum {
    term *in;
    int n_in;
    int n_broadcast; /* axes of "..." in the term that has most */
    labels out;
    int64_t dim[N_LABELS]; /* 0 before any term has the label */
    int count[N_LABELS];   /* how often the terms name it */
} einsum;

static bool has_label(const uint8_t *label, int n, uint8_t which) {
    return n > 0 && memchr(label, which, (size_t)n) != NULL;
}

static kiln_status bad_equation(kiln_compose *c, const char *why) {
    return kiln_fail(c->cx->err, KILN_ERR_PARSE, "attribute 'equation' %s", why);
}

/* Labels of one part of the equation; `n_broadcast` axes stand for "...", the last of
 * all broadcast axes. */
static kiln_status parse_labels(kiln_compose *c, const einsum *e, kiln_str text,
                                int n_broadcast, labels *out) {
    bool has_dots = false;
    out->n = 0;
    for (size_t i = 0; i < text.n; i++) {
        const char ch = text.p[i];
        const bool is_dots = text.n - i >= 3 && memcmp(text.p + i, "...", 3) == 0;
        const int adds = is_dots ? n_broadcast : 1;
        if (ch == ' ')
            continue;
        if (is_dots && has_dots)
            return bad_equation(c, "must have '...' at most once in a term");
        if (!is_dots && !(ch >= 'a' && ch <= 'z') && !(ch >= 'A' && ch <= 'Z'))
            return bad_equation(c, "must consist of letters, '...', ',' and one '->'");
        if (out->n + adds > KILN_MAX_RANK)
            return kiln_fail(c->cx->err, KILN_ERR_LIMIT,
                             "a term of 'equation' must have at most %d axes",
                             (int)KILN_MAX_RANK);
        if (is_dots) {
            for (int k = 0; k < n_broadcast; k++)
                out->label[out->n++] = (uint8_t)(e->n_broadcast - n_broadcast + k);
            has_dots = true;
            i += 2;
        } else {
            out->label[out->n++] = (uint8_t)ch;
        }
    }
    return KILN_OK;
}

/* How many axes "..." stands for in a term of `rank` axes: 0 without one. */
static int count_broadcast(kiln_str text, int rank) {
    bool has_dots = false;
    for (size_t i = 0; i < text.n; i++) {
        has_dots = has_dots || text.p[i] == '.';
        rank -= text.p[i] != '.' && text.p[i] != ' ';
    }
    return has_dots && rank > 0 ? rank : 0;
}

/* The next part of the equation before a comma. */
static kiln_str next_part(kiln_str *rest) {
    kiln_str part = {.p = rest->p};
    while (part.n < rest->n && rest->p[part.n] != ',')
        part.n++;
    const size_t used = part.n + (part.n < rest->n);
    *rest = (kiln_str){rest->p + used, rest->n - used};
    return part;
}

static kiln_status note_dims(kiln_compose *c, einsum *e, const term *t) {
    for (int i = 0; i < t->n; i++) {
        const uint8_t which = t->label[i];
        const int64_t dim = t->v->type.dim[i], known = e->dim[which];
        const bool is_first = e->count[which]++ == 0;
        if (is_first || (which < KILN_MAX_RANK && known == 1)) {
            e->dim[which] = dim;
        } else if (known != dim && !(which < KILN_MAX_RANK && dim == 1)) {
            return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                             "axes of one label must have one extent, have %" PRId64
                             " and %" PRId64,
                             known, dim);
        }
    }
    return KILN_OK;
}

static kiln_status read_terms(kiln_compose *c, einsum *e, kiln_str text) {
    kiln_str rest = text;
    int n_terms = 1;
    for (size_t i = 0; i < text.n; i++)
        n_terms += text.p[i] == ',';
    if (n_terms != e->n_in)
        return bad_equation(c, "must have as many terms as there are inputs");
    for (int i = 0; i < e->n_in; i++) {
        const int axes = count_broadcast(next_part(&rest), e->in[i].v->type.rank);
        e->n_broadcast = axes > e->n_broadcast ? axes : e->n_broadcast;
    }
    rest = text;
    for (int i = 0; i < e->n_in; i++) {
        term *const t = &e->in[i];
        const kiln_str part = next_part(&rest);
        labels l;
        KILN_TRY(parse_labels(c, e, part, count_broadcast(part, t->v->type.rank), &l));
        if (l.n != t->v->type.rank)
            return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                             "term %d of 'equation' must name the %d axes of its "
                             "input, names %d",
                             i, t->v->type.rank, l.n);
        t->n = l.n;
        memcpy(t->label, l.label, sizeof t->label);
        KILN_TRY(note_dims(c, e, t));
    }
    return KILN_OK;
}

/* Without "->": the broadcast axes, then by alphabet all labels that come once. */
static kiln_status implicit_output(kiln_compose *c, einsum *e) {
    for (int i = 0; i < N_LABELS; i++) {
        const bool is_broadcast = i < KILN_MAX_RANK;
        if (is_broadcast ? e->count[i] == 0 : e->count[i] != 1)
            continue;
        if (e->out.n == KILN_MAX_RANK)
            return kiln_fail(c->cx->err, KILN_ERR_LIMIT,
                             "the result must have at most %d axes",
                             (int)KILN_MAX_RANK);
        e->out.label[e->out.n++] = (uint8_t)i;
    }
    return KILN_OK;
}

static kiln_status read_equation(kiln_compose *c, kiln_str text, einsum *e) {
    size_t arrow = 0;
    while (arrow < text.n &&
           !(text.n - arrow >= 2 && memcmp(text.p + arrow, "->", 2) == 0))
        arrow++;
    if (e->n_in == 0 || text.n == 0)
        return bad_equation(c, "and at least one input must be given");
    KILN_TRY(read_terms(c, e, (kiln_str){text.p, arrow}));
    if (arrow == text.n)
        return implicit_output(c, e);
    const kiln_str out = {text.p + arrow + 2, text.n - arrow - 2};
    KILN_TRY(parse_labels(c, e, out, e->n_broadcast, &e->out));
    for (int i = 0; i < e->out.n; i++) {
        const bool is_twice = has_label(e->out.label, i, e->out.label[i]);
        const bool is_unknown =
            e->out.label[i] >= KILN_MAX_RANK && e->count[e->out.label[i]] == 0;
        if (is_twice || is_unknown)
            return bad_equation(c, "must give each label of the result once, and some "
                                   "term must have it");
    }
    return KILN_OK;
}

/* Is a label in the result, or in a term from `from` on? */
static bool is_kept(const einsum *e, int from, uint8_t which) {
    bool kept = has_label(e->out.label, e->out.n, which);
    for (int i = from; i < e->n_in; i++)
        kept = kept || has_label(e->in[i].label, e->in[i].n, which);
    return kept;
}

/* Puts the axes in the order of `l`, which has the same labels. */
static void reorder(kiln_compose *c, term *t, const uint8_t *l) {
    int64_t perm[KILN_MAX_RANK] = {0};
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < t->n; k++)
            if (t->label[k] == l[i])
                perm[i] = k;
    t->v = kiln_compose_transpose(c, t->v, perm);
    memmove(t->label, l, (size_t)t->n);
}

/* Keeps the diagonal of axes i < j, which carry one label, as the last axis. */
static void take_diagonal(kiln_compose *c, term *t, int i, int j) {
    int64_t perm[KILN_MAX_RANK] = {0}, dim[KILN_MAX_RANK] = {0};
    const uint8_t which = t->label[i];
    const int64_t d = t->v->type.dim[i];
    int n = 0;
    for (int k = 0; k < t->n; k++) {
        if (k == i || k == j)
            continue;
        t->label[n] = t->label[k];
        dim[n] = t->v->type.dim[k];
        perm[n++] = k;
    }
    perm[n] = i;
    perm[n + 1] = j;
    dim[n] = d * d;
    t->v = kiln_compose_transpose(c, t->v, perm);
    t->v = kiln_compose_reshape(c, t->v, n + 1, dim);
    t->v = kiln_compose_slice(c, t->v, n, 0, d > 1 ? d + 1 : 1, d);
    t->label[n] = which;
    t->n = n + 1;
}

static void take_diagonals(kiln_compose *c, term *t) {
    for (int j = 1; j < t->n; j++)
        for (int i = 0; i < j; i++)
            if (t->label[i] == t->label[j]) {
                take_diagonal(c, t, i, j);
                i = j = 0;
            }
}

/* Sums over the labels that neither the other term nor the rest need. */
static void sum_away(kiln_compose *c, const einsum *e, int from, const term *other,
                     term *t) {
    int64_t axes[KILN_MAX_RANK];
    size_t n_axes = 0;
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        const uint8_t which = t->label[i];
        if (is_kept(e, from, which) ||
            (other != NULL && has_label(other->label, other->n, which)))
            t->label[n++] = which;
        else
            axes[n_axes++] = i;
    }
    if (n_axes > 0)
        t->v = kiln_compose_reduce(c, &kiln_op_reduce_sum, t->v, axes, n_axes, false);
    t->n = n;
}

/* Labels of a product of two terms, by what becomes of them. */
enum { BATCH, FREE_A, FREE_B, SUMMED, N_KINDS };

static void sort_labels(const einsum *e, int from, const term *a, const term *b,
                        labels *by) {
    for (int i = 0; i < a->n; i++) {
        const uint8_t which = a->label[i];
        labels *const l = &by[!has_label(b->label, b->n, which) ? FREE_A
                              : is_kept(e, from, which)         ? BATCH
                                                                : SUMMED];
        l->label[l->n++] = which;
    }
    for (int i = 0; i < b->n; i++)
        if (!has_label(a->label, a->n, b->label[i]))
            by[FREE_B].label[by[FREE_B].n++] = b->label[i];
}

/* Puts three kinds of labels one behind the other. Shared broadcast axes get their full
 * extent, unless `is_mul`. dim[0..2]: how many elements each kind has. */
static void arrange(kiln_compose *c, const einsum *e, const labels *by,
                    const int *kinds, bool stretches, term *t, int64_t *dim) {
    uint8_t order[KILN_MAX_RANK];
    int64_t wide[KILN_MAX_RANK];
    int n = 0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < by[kinds[k]].n; i++)
            order[n++] = by[kinds[k]].label[i];
    reorder(c, t, order);
    n = 0;
    for (int k = 0; k < 3; k++) {
        const bool is_shared = kinds[k] == BATCH || kinds[k] == SUMMED;
        dim[k] = 1;
        for (int i = 0; i < by[kinds[k]].n; i++, n++) {
            wide[n] = stretches && is_shared ? e->dim[order[n]] : t->v->type.dim[n];
            dim[k] *= wide[n];
        }
    }
    if (c->status == KILN_OK)
        t->v = kiln_compose_expand(c, t->v, t->n, wide);
}

/* a * b without sums: b's own axes behind all of a's. */
static void multiply(kiln_compose *c, const einsum *e, const labels *by, term *a,
                     term *b) {
    static const int kinds[2][3] = {{BATCH, FREE_A, SUMMED}, {BATCH, SUMMED, FREE_B}};
    int64_t unused[3], dim[KILN_MAX_RANK];
    const int n_batch = by[BATCH].n, n_a = by[FREE_A].n, n_b = by[FREE_B].n;
    arrange(c, e, by, kinds[0], false, a, unused);
    arrange(c, e, by, kinds[1], false, b, unused);
    for (int i = 0; i < n_batch + n_a + n_b; i++)
        dim[i] = i < n_batch + n_a ? a->v->type.dim[i] : 1;
    a->v = kiln_compose_reshape(c, a->v, n_batch + n_a + n_b, dim);
    for (int i = 0; i < n_batch + n_a + n_b; i++)
        dim[i] = i < n_batch         ? b->v->type.dim[i]
                 : i < n_batch + n_a ? 1
                                     : b->v->type.dim[i - n_a];
    b->v = kiln_compose_reshape(c, b->v, n_batch + n_a + n_b, dim);
    a->v = kiln_compose_2(c, &kiln_op_mul, a->v, b->v);
}

/* a * b, summed: [batch, a, summed] times [batch, summed, b]. */
static void contract(kiln_compose *c, const einsum *e, const labels *by, term *a,
                     term *b) {
    static const int kinds[2][3] = {{BATCH, FREE_A, SUMMED}, {BATCH, SUMMED, FREE_B}};
    int64_t dim_a[3], dim_b[3], dim[KILN_MAX_RANK];
    const int n_batch = by[BATCH].n, n_a = by[FREE_A].n, n_b = by[FREE_B].n;
    arrange(c, e, by, kinds[0], true, a, dim_a);
    arrange(c, e, by, kinds[1], true, b, dim_b);
    for (int i = 0; i < n_batch + n_a; i++)
        dim[i] = a->v->type.dim[i];
    for (int i = 0; i < n_b; i++)
        dim[n_batch + n_a + i] = b->v->type.dim[b->n - n_b + i];
    const int skip = n_batch == 0; /* a product of matrices without a batch axis */
    a->v = kiln_compose_reshape(c, a->v, 3 - skip, dim_a + skip);
    b->v = kiln_compose_reshape(c, b->v, 3 - skip, dim_b + skip);
    a->v = kiln_compose_2(c, &kiln_op_matmul, a->v, b->v);
    a->v = kiln_compose_reshape(c, a->v, n_batch + n_a + n_b, dim);
}

/* a becomes its product with b; later terms begin at `from`. */
static kiln_status join(kiln_compose *c, const einsum *e, int from, term *a, term *b) {
    labels by[N_KINDS] = {{0}};
    sum_away(c, e, from, b, a);
    sum_away(c, e, from, a, b);
    KILN_TRY(c->status);
    sort_labels(e, from, a, b, by);
    const int rank = by[BATCH].n + by[FREE_A].n + by[FREE_B].n;
    if (rank > KILN_MAX_RANK)
        return kiln_fail(c->cx->err, KILN_ERR_LIMIT,
                         "a product of two terms must have at most %d axes, has %d",
                         (int)KILN_MAX_RANK, rank);
    if (by[SUMMED].n > 0)
        contract(c, e, by, a, b);
    else
        multiply(c, e, by, a, b);
    a->n = 0;
    for (int k = BATCH; k <= FREE_B; k++)
        for (int i = 0; i < by[k].n; i++)
            a->label[a->n++] = by[k].label[i];
    return c->status;
}

static kiln_status compose(kiln_compose *c, kiln_str equation, einsum *e) {
    KILN_TRY(read_equation(c, equation, e));
    term *const t = &e->in[0];
    for (int i = 0; i < e->n_in; i++)
        take_diagonals(c, &e->in[i]);
    KILN_TRY(c->status);
    for (int i = 1; i < e->n_in; i++)
        KILN_TRY(join(c, e, i + 1, t, &e->in[i]));
    sum_away(c, e, e->n_in, NULL, t);
    KILN_TRY(c->status);
    reorder(c, t, e->out.label);
    return c->status;
}

kiln_value *kiln_compose_einsum(kiln_compose *c, kiln_str equation,
                                kiln_value *const *in, int n_in) {
    einsum e = {.n_in = n_in};
    e.in = kiln_array(c->cx->arena, term, n_in + 1);
    for (int i = 0; i < n_in; i++)
        e.in[i].v = in[i];
    if (c->status == KILN_OK)
        kiln_compose_fail(c, compose(c, equation, &e));
    return e.in[0].v;
}
