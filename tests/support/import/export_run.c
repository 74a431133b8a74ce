/* Graphs exported and imported again; see export_run.h. */
#include "tests/support/import/export_run.h"

#include <string.h>

#include "compiler/frontend/frontend.h"
#include "compiler/pass/pass.h"
#include "compiler/reference/reference.h"

/* How many rows this operator gives depends on data in ONNX: not all that a graph may do
 * with the rows that kiln has is read back (docs/bounded-outputs.md). */
static bool has_rows(const kiln_graph *g) {
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.v[i]->op == &kiln_op_non_max_suppression)
            return true;
    return false;
}

kiln_status kiln_test_export_again(kiln_arena *a, const kiln_graph *g, kiln_graph **out,
                                   kiln_err *err) {
    kiln_exported x;
    kiln_import_report report = {0};
    KILN_TRY(kiln_exporter_onnx.write(a, g, NULL, &x, err));
    const kiln_str bytes = kiln_export_join(a, &x.model);
    const kiln_status st =
        kiln_import_onnx_bytes(a, bytes, "exported", NULL, NULL, out, &report, err);
    if (st != KILN_OK)
        kiln_note(err, "importing what was exported");
    return st == KILN_ERR_UNSUPPORTED && !has_rows(g) ? KILN_ERR_PARSE : st;
}

/* Of what several nodes compute, a few roundings of the dtype. */
static double tolerance_of(kiln_dtype dtype) {
    switch (dtype) {
    case KILN_F64:
        return 1e-13;
    case KILN_F32:
        return 2e-6;
    case KILN_F16:
        return 4e-3;
    case KILN_BF16:
        return 3e-2;
    case KILN_DTYPES_INT:
    case KILN_BOOL:
    case KILN_DTYPES_LOW_FLOAT:
    case KILN_DTYPES_LOW_INT:
    case KILN_N_DTYPES:
        return 0;
    }
    return 0;
}

static kiln_status compare(kiln_test_exports *e, const kiln_graph *g, size_t i,
                           const kiln_tensor *got, const kiln_tensor *want,
                           kiln_err *err) {
    const double tolerance = tolerance_of(want->type.dtype);
    kiln_diff d;
    if (kiln_type_eq(&got->type, &want->type) &&
        memcmp(got->data, want->data, (size_t)kiln_type_bytes(&want->type)) == 0) {
        e->n_same++;
        return KILN_OK;
    }
    KILN_TRY(kiln_ref_compare(got, want, tolerance, tolerance, &d, err));
    if (!d.ok)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "exported, output '%s' differs: %g instead of %g, and %lld "
                         "elements in all",
                         g->output_names.v[i], d.worst_got, d.worst_want,
                         (long long)d.n_bad);
    e->n_near += d.max_abs > 0;
    e->n_same += d.max_abs == 0; /* NaN and -0 */
    return KILN_OK;
}

static kiln_status check_names(const kiln_graph *g, const kiln_graph *again,
                               kiln_err *err) {
    if (again->inputs.n != g->inputs.n || again->outputs.n < g->outputs.n)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "exported, %zu inputs and %zu outputs became %zu and %zu",
                         g->inputs.n, g->outputs.n, again->inputs.n, again->outputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        if (strcmp(g->inputs.v[i]->name, again->inputs.v[i]->name) != 0)
            return kiln_fail(err, KILN_ERR_SHAPE, "exported, input '%s' became '%s'",
                             g->inputs.v[i]->name, again->inputs.v[i]->name);
    for (size_t i = 0; i < g->outputs.n; i++)
        if (strcmp(g->output_names.v[i], again->output_names.v[i]) != 0)
            return kiln_fail(err, KILN_ERR_SHAPE, "exported, output '%s' became '%s'",
                             g->output_names.v[i], again->output_names.v[i]);
    return KILN_OK;
}

kiln_status kiln_test_run_exported(void *exports, kiln_arena *a, const kiln_graph *g,
                                   const kiln_tensor *in, size_t n_in, kiln_tensor *out,
                                   kiln_err *err) {
    kiln_test_exports *const e = exports;
    kiln_graph *again = NULL;
    const kiln_status st = kiln_test_export_again(a, g, &again, err);
    e->n_refused += st == KILN_ERR_UNSUPPORTED;
    KILN_TRY(st);
    KILN_TRY(check_names(g, again, err));
    if (e->with_passes) {
        const kiln_pass_options passes = {.verify = true};
        KILN_TRY(kiln_graph_optimize(again, &passes, err));
    }
    kiln_tensor *const got = kiln_array(a, kiln_tensor, again->outputs.n);
    KILN_TRY(kiln_ref_run(a, g, in, n_in, out, err));
    KILN_TRY(kiln_ref_run(a, again, in, n_in, got, err));
    for (size_t i = 0; i < g->outputs.n; i++)
        KILN_TRY(compare(e, g, i, &got[i], &out[i], err));
    return KILN_OK;
}
