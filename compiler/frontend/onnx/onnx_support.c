/* Which operators a model needs: rows of onnx_ops.def, model-local functions, and what
 * is neither. */
#include "compiler/frontend/onnx/import_core.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <string.h>

static const kiln_onnx_op rows[] = {
#define KILN_ONNX(domain, name, since, until, importer, op)                            \
    {domain, name, since, until, kiln_onnx_import_##importer, op},
#include "compiler/frontend/onnx/onnx_ops.def"
#undef KILN_ONNX
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

bool kiln_onnx_is_default_domain(kiln_str domain) {
    return domain.n == 0 || kiln_str_is(domain, "ai.onnx");
}

static bool same_domain(kiln_str a, kiln_str b) {
    return kiln_str_eq(a, b) ||
           (kiln_onnx_is_default_domain(a) && kiln_onnx_is_default_domain(b));
}

const kiln_onnx_op *kiln_onnx_find(kiln_str domain, kiln_str name, int64_t opset) {
    for (size_t i = 0; i < N_ROWS; i++)
        if (kiln_str_is(name, rows[i].name) &&
            same_domain(domain, kiln_str_from(rows[i].domain)) &&
            opset >= rows[i].since && (rows[i].until == 0 || opset <= rows[i].until))
            return &rows[i];
    return NULL;
}

/* Domain, name and overload with their lengths between: no two functions share one. */
static kiln_str function_key(kiln_onnx_cx *cx, kiln_str domain, kiln_str name,
                             kiln_str overload) {
    kiln_buf b;
    kiln_buf_init(&b, &cx->common.scratch);
    if (kiln_onnx_is_default_domain(domain))
        domain = KILN_STR_LIT("ai.onnx");
    kiln_buf_printf(&b, "%zu:%zu:", domain.n, name.n);
    kiln_buf_add(&b, domain.p, domain.n);
    if (name.n > 0)
        kiln_buf_add(&b, name.p, name.n);
    if (overload.n > 0)
        kiln_buf_add(&b, overload.p, overload.n);
    return kiln_buf_str(&b);
}

const kiln_onnx_function *kiln_onnx_find_function(kiln_onnx_cx *cx,
                                                  const kiln_onnx_node *n) {
    if (cx->model->n_function == 0)
        return NULL;
    const kiln_arena_mark mark = kiln_arena_save(&cx->common.scratch);
    const kiln_onnx_function *const f = kiln_map_get(
        &cx->functions, function_key(cx, n->domain, n->op_type, n->overload));
    kiln_arena_rewind(&cx->common.scratch, mark);
    return f;
}

kiln_status kiln_onnx_add_functions(kiln_onnx_cx *cx) {
    for (size_t i = 0; i < cx->model->n_function; i++) {
        const kiln_onnx_function *const f = &cx->model->function[i];
        const char *const name = kiln_onnx_show(cx, f->name);
        if (f->n_opset_import > KILN_ONNX_MAX_DOMAINS ||
            f->n_attribute_default > KILN_ONNX_MAX_ATTRS)
            return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                                  "function '%s' may have at most %d domains and %d "
                                  "default attributes, has %zu and %zu",
                                  name, KILN_ONNX_MAX_DOMAINS, KILN_ONNX_MAX_ATTRS,
                                  f->n_opset_import, f->n_attribute_default);
        for (size_t k = 0; k < f->n_opset_import; k++) {
            const kiln_status st = kiln_onnx_check_opset(cx, &f->opset_import[k]);
            if (st != KILN_OK) {
                kiln_note(cx->common.err, "reading function '%s'", name);
                return st;
            }
        }
        if (!kiln_map_set(&cx->common.scratch, &cx->functions,
                          function_key(cx, f->domain, f->name, f->overload), f))
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "function '%s' is given twice; give one of them "
                                  "another name or overload",
                                  name);
    }
    return KILN_OK;
}

/* ---- listing --------------------------------------------------------------------- */

typedef struct listing {
    kiln_onnx_cx *cx;
    kiln_numbers seen; /* unsupported: name with version -> index + 1 in the report */
    bool *is_walked;   /* per function */
} listing;

/* Why an operator is not read, or NULL. */
static const char *reason_of(const kiln_onnx_node *n) {
    static const struct {
        const char *domain, *name, *why; /* name "": all others of the domain */
    } refused[] = {
#define KILN_ONNX_REFUSED(domain, name, why) {domain, name, why},
#include "compiler/frontend/onnx/onnx_refused.def"
#undef KILN_ONNX_REFUSED
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (same_domain(n->domain, kiln_str_from(refused[i].domain)) &&
            (refused[i].name[0] == '\0' || kiln_str_is(n->op_type, refused[i].name)))
            return refused[i].why;
    return NULL;
}

/* "read at opsets 7 to 12"; where no row has the name, why. */
static const char *known_versions(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                  bool *is_known) {
    int lo = 0, hi = 0;
    bool is_open = false;
    for (size_t i = 0; i < N_ROWS; i++) {
        if (!kiln_str_is(n->op_type, rows[i].name) ||
            !same_domain(n->domain, kiln_str_from(rows[i].domain)))
            continue;
        lo = lo == 0 || rows[i].since < lo ? rows[i].since : lo;
        hi = rows[i].until > hi ? rows[i].until : hi;
        is_open = is_open || rows[i].until == 0;
    }
    *is_known = lo != 0;
    if (lo == 0) {
        const char *const why = reason_of(n);
        return why != NULL ? why : "kiln has it at no opset";
    }
    return is_open
               ? kiln_format(&cx->common.scratch, "read from opset %d on", lo)
               : kiln_format(&cx->common.scratch, "read at opsets %d to %d", lo, hi);
}

static void add_unsupported(listing *l, const kiln_onnx_node *n, int64_t opset) {
    kiln_onnx_cx *const cx = l->cx;
    const bool is_default = kiln_onnx_is_default_domain(n->domain);
    const char *const type = kiln_onnx_show(cx, n->op_type);
    const char *const name =
        is_default ? kiln_format(cx->common.arena, "%s-%" PRId64, type, opset)
                   : kiln_format(cx->common.arena, "%s.%s-%" PRId64,
                                 kiln_onnx_show(cx, n->domain), type, opset);
    const size_t at = kiln_numbers_get(&l->seen, kiln_str_from(name));
    if (at != 0) {
        cx->report->unsupported.v[at - 1].count++;
        return;
    }
    const char *const first =
        n->name.n > 0 ? kiln_str_printable(cx->common.arena, n->name, 200)
                      : kiln_format(cx->common.arena, "#%" PRId64, n->index);
    const kiln_unsupported u = {.op = name, .first_node = first, .count = 1};
    kiln_vec_push(cx->common.arena, &cx->report->unsupported, u);
    kiln_numbers_set(&cx->common.scratch, &l->seen, kiln_str_from(name),
                     cx->report->unsupported.n);
}

static void walk_nodes(listing *l, const kiln_onnx_node *node, size_t n,
                       const kiln_onnx_frame *frame, int depth);

static void walk_function(listing *l, const kiln_onnx_function *f, int depth) {
    const size_t i = (size_t)(f - l->cx->model->function);
    KILN_ASSERT(i < l->cx->model->n_function, "a function of another model");
    if (l->is_walked[i])
        return;
    l->is_walked[i] = true;
    const kiln_onnx_frame frame = {.fn = f};
    walk_nodes(l, f->node, f->n_node, &frame, depth + 1);
}

static void walk_nodes(listing *l, const kiln_onnx_node *node, size_t n,
                       const kiln_onnx_frame *frame, int depth) {
    /* Deeper calls are refused where they are imported. */
    if (depth > 2 * KILN_ONNX_MAX_CALL_DEPTH)
        return;
    for (size_t i = 0; i < n; i++) {
        const int64_t opset = kiln_onnx_opset_in(l->cx, frame, node[i].domain);
        const kiln_onnx_function *const f = kiln_onnx_find_function(l->cx, &node[i]);
        if (f != NULL)
            walk_function(l, f, depth);
        else if (kiln_onnx_find(node[i].domain, node[i].op_type, opset) == NULL)
            add_unsupported(l, &node[i], opset);
        for (size_t k = 0; k < node[i].n_attribute; k++) {
            const kiln_onnx_graph *const g = node[i].attribute[k].g;
            if (g != NULL)
                walk_nodes(l, g->node, g->n_node, frame, depth + 1);
        }
    }
}

/* The versions that are read, for an entry of the report: found again by its first
 * node's name. */
static const char *versions_of(kiln_onnx_cx *cx, const kiln_unsupported *u,
                               bool *is_known) {
    kiln_onnx_node probe = {.op_type = kiln_str_from(u->op)};
    for (size_t i = probe.op_type.n; i > 0; i--)
        if (u->op[i - 1] == '-') {
            probe.op_type.n = i - 1;
            break;
        }
    for (size_t i = probe.op_type.n; i > 0; i--)
        if (u->op[i - 1] == '.') {
            probe.domain = (kiln_str){u->op, i - 1};
            probe.op_type = (kiln_str){u->op + i, probe.op_type.n - i};
            break;
        }
    return known_versions(cx, &probe, is_known);
}

/* Another opset helps only those that kiln has at some. */
static const char *remedy_for(size_t n, size_t n_known) {
    if (n_known == n)
        return "export with another opset";
    return n_known == 0 ? "no other opset has them for kiln: export without them"
                        : "export with another opset, and without those that kiln has "
                          "at none";
}

kiln_status kiln_onnx_check_support(kiln_onnx_cx *cx) {
    listing l = {.cx = cx};
    KILN_ASSERT(cx->model->graph != NULL && cx->report != NULL,
                "a model without a graph was let in");
    l.is_walked = kiln_array(&cx->common.scratch, bool, cx->model->n_function);
    walk_nodes(&l, cx->model->graph->node, cx->model->graph->n_node, NULL, 0);
    const size_t n = cx->report->unsupported.n;
    if (n == 0)
        return KILN_OK;
    kiln_buf text;
    size_t n_known = 0;
    kiln_buf_init(&text, &cx->common.scratch);
    for (size_t i = 0; i < n; i++) {
        const kiln_unsupported *const u = &cx->report->unsupported.v[i];
        bool is_known = false;
        const char *const versions = versions_of(cx, u, &is_known);
        n_known += is_known;
        kiln_buf_printf(&text, "%s %s (%" PRId64 " time%s, first in node '%s'; %s)",
                        i == 0 ? "" : ",", u->op, u->count, u->count == 1 ? "" : "s",
                        u->first_node, versions);
    }
    return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED, "%zu operator%s not read:%s; %s", n,
                          n == 1 ? " is" : "s are", kiln_buf_str(&text).p,
                          remedy_for(n, n_known));
}
