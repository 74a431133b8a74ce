#include "tests/support/import/tflite_run.h"

#include "tests/support/model/flex_writer.h"

#include <math.h>
#include <string.h>

#include "compiler/reference/reference.h"

static kiln_dtype dtype_of(int type) {
    switch (type) {
    case KILN_TFW_F32:
        return KILN_F32;
    case KILN_TFW_F16:
        return KILN_F16;
    case KILN_TFW_I32:
        return KILN_I32;
    case KILN_TFW_U8:
        return KILN_U8;
    case KILN_TFW_I64:
        return KILN_I64;
    case KILN_TFW_BOOL:
        return KILN_BOOL;
    case KILN_TFW_I16:
        return KILN_I16;
    default:
        return KILN_I8;
    }
}

static kiln_tensor tensor_of(const kiln_tflite_port *p) {
    int64_t dim[KILN_MAX_RANK];
    int rank = 0;
    kiln_str rest = kiln_str_from(p->shape), part;
    while (rest.n > 0 && kiln_str_cut(&rest, 'x', &part))
        assert_true(kiln_parse_i64(part, &dim[rank++]));
    const kiln_type t = kiln_type_make(dtype_of(p->type), rank, dim);
    kiln_wide w = kiln_wide_new(kiln_test_arena(), &t);
    assert_true(kiln_type_elems(&t) <= KILN_TFLITE_ELEMS);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++) {
        if (w.f != NULL)
            w.f[i] = p->v[i];
        else
            w.i[i] = (int64_t)p->v[i];
    }
    const kiln_tensor out = kiln_tensor_new(kiln_test_arena(), &t);
    kiln_narrow(&w, out.data);
    return out;
}

static int add_port(kiln_tfw *m, const kiln_tflite_port *p, const char *name) {
    int32_t shape[KILN_MAX_RANK];
    if (p->shape == NULL)
        return -1;
    const kiln_tensor t = tensor_of(p);
    for (int i = 0; i < t.type.rank; i++)
        shape[i] = (int32_t)t.type.dim[i];
    const int at =
        kiln_tfw_tensor(m, name, p->type, (size_t)t.type.rank, shape,
                        p->is_const ? t.data : NULL, (size_t)kiln_type_bytes(&t.type));
    const int64_t zero = p->zero;
    if (p->scale > 0)
        kiln_tfw_scales(m, &p->scale, &zero, 1, 0);
    if (p->is_variable)
        kiln_fbw_int(m->tensor, 5, 1, 1);
    return at;
}

/* A tensor that an operator makes. */
static int add_made(kiln_tfw *m, int type, int rank, const int32_t *dim) {
    return kiln_tfw_tensor(m, kiln_format(kiln_test_arena(), "t%d", m->n_tensors), type,
                           (size_t)rank, dim, NULL, 0);
}

static int add_ints(kiln_tfw *m, int32_t v) {
    const int32_t one = 1;
    return kiln_tfw_tensor(m, "c", KILN_TFW_I32, 1, &one, &v, sizeof v);
}

/* What tf.boolean_mask becomes: of x (a matrix), by the sums of its rows, or of a list by
 * its elements. */
static int add_masked(kiln_tfw *m, int x, const kiln_type *t) {
    enum { GATHER = 36, SQUEEZE = 43, GREATER = 61, SUM = 74, WHERE = 109 };
    const float zero = 0;
    const int32_t dim[] = {(int32_t)t->dim[0], t->rank > 1 ? (int32_t)t->dim[1] : 0},
                  place[] = {dim[0], 1}, axis = 1;
    int32_t in[2] = {x, 0};
    if (t->rank > 1) {
        in[1] = add_ints(m, 1);
        const int32_t sum = add_made(m, KILN_TFW_F32, 1, dim);
        (void)kiln_tfw_op(m, SUM, NULL, 2, in, 1, &sum);
        in[0] = sum;
    }
    in[1] = kiln_tfw_tensor(m, "zero", KILN_TFW_F32, 0, NULL, &zero, sizeof zero);
    const int32_t mask = add_made(m, KILN_TFW_BOOL, 1, dim);
    (void)kiln_tfw_op(m, GREATER, NULL, 2, in, 1, &mask);
    const int32_t places = add_made(m, KILN_TFW_I64, 2, place);
    (void)kiln_tfw_op(m, WHERE, NULL, 1, &mask, 1, &places);
    in[0] = x;
    in[1] = add_made(m, KILN_TFW_I64, 1, dim);
    kiln_fbw_vector(kiln_tfw_op(m, SQUEEZE, NULL, 1, &places, 1, &in[1]), 0, &axis, 1,
                    sizeof axis);
    const int32_t y = add_made(m, KILN_TFW_F32, t->rank, dim);
    (void)kiln_tfw_op(m, GATHER, NULL, 2, in, 1, &y);
    return y;
}

static size_t n_out(const kiln_tflite_case *r) { return r->n_out > 0 ? r->n_out : 1; }

kiln_str kiln_test_tflite_model(const kiln_tflite_case *r) {
    kiln_tfw m = kiln_tfw_begin();
    int32_t in[KILN_TFLITE_PORTS], out[KILN_TFLITE_OUTS];
    for (size_t i = 0; i < r->n_in; i++) {
        in[i] = add_port(&m, &r->in[i], kiln_format(kiln_test_arena(), "x%zu", i));
        if (in[i] >= 0 && !r->in[i].is_const && !r->in[i].is_variable)
            kiln_tfw_input(&m, in[i]);
        if (r->in[i].is_masked) {
            const kiln_tensor x = tensor_of(&r->in[i]);
            in[i] = add_masked(&m, in[i], &x.type);
        }
        if (r->in[i].is_first)
            in[i] = in[0];
    }
    for (size_t i = 0; i < n_out(r); i++) {
        out[i] = add_port(&m, &r->out[i], kiln_format(kiln_test_arena(), "y%zu", i));
        kiln_tfw_output(&m, out[i]);
    }
    kiln_fbw_table *const o =
        kiln_tfw_op(&m, r->code, r->custom, r->n_in, in, n_out(r), out);
    if (r->flex != NULL) {
        const kiln_str map = kiln_test_flex_map(r->flex);
        kiln_fbw_vector(m.op, 5, map.p, map.n, 1);
    }
    if (r->n_raw > 0)
        kiln_fbw_vector(m.op, 5, r->raw, r->n_raw * sizeof r->raw[0], 1);
    for (size_t i = 0; i < r->n_options; i++) {
        const kiln_tflite_option *const v = &r->option[i];
        if (v->bytes == 0)
            kiln_fbw_float(o, v->slot, (float)v->v);
        else
            kiln_fbw_int(o, v->slot, v->bytes, (int64_t)v->v);
    }
    return kiln_tfw_write(&m);
}

const char *kiln_test_tflite_file(kiln_str bytes) {
    kiln_err err = {0};
    const char *const path =
        kiln_path_join(kiln_test_arena(), kiln_test_dir(), "m.tflite");
    kiln_assert_status_ok(kiln_file_write(path, bytes.p, bytes.n, &err), &err);
    return path;
}

static void compare(const kiln_tflite_case *r, const kiln_tflite_port *p, size_t i,
                    const kiln_tensor *got) {
    const kiln_tensor want = tensor_of(p);
    const double within = r->within > 0 ? r->within : 1e-5;
    if (!kiln_type_eq(&got->type, &want.type))
        fail_msg("output %zu must be %s, is %s", i,
                 kiln_type_text(kiln_test_arena(), &want.type),
                 kiln_type_text(kiln_test_arena(), &got->type));
    kiln_wide w = kiln_wide_new(kiln_test_arena(), &got->type);
    kiln_widen(&got->type, got->data, &w);
    for (int64_t k = 0; k < kiln_type_elems(&got->type); k++) {
        const double v = w.f != NULL ? w.f[k] : (double)w.i[k];
        if (!(fabs(v - p->v[k]) <= within))
            fail_msg("element %d of output %zu must be %g, is %g", (int)k, i, p->v[k],
                     v);
    }
}

void kiln_test_check_tflite(void **state) {
    const kiln_tflite_case *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_import_report report;
    const char *const path = kiln_test_tflite_file(kiln_test_tflite_model(r));
    const kiln_import_options o = {.has_state = r->has_state,
                                   .as_reference = r->as_reference};
    const kiln_status st = kiln_import(a, path, &o, &g, &report, &err);
    if (r->fails != KILN_OK) {
        kiln_assert_fails(st, r->fails, &err, r->text);
        return;
    }
    kiln_assert_status_ok(st, &err);
    assert_string_equal(report.format, "tflite");
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    kiln_tensor in[KILN_TFLITE_PORTS], out[KILN_TFLITE_OUTS];
    size_t n = 0;
    for (size_t i = 0; i < r->n_in; i++)
        if (r->in[i].shape != NULL && !r->in[i].is_const && !r->in[i].is_variable)
            in[n++] = tensor_of(&r->in[i]);
    for (size_t i = 0; i < r->n_in && r->has_state; i++) {
        kiln_tflite_port real = r->in[i];
        real.type = KILN_TFW_F32;
        if (real.is_variable)
            in[n++] = tensor_of(&real);
    }
    assert_int_equal(g->inputs.n, n);
    assert_in_range(g->outputs.n, n_out(r), KILN_TFLITE_OUTS);
    kiln_assert_status_ok(kiln_ref_run(a, g, in, n, out, &err), &err);
    for (size_t i = 0; i < n_out(r); i++)
        compare(r, &r->out[i], i, &out[i]);
    for (size_t i = n_out(r); i < g->outputs.n; i++)
        compare(r, &r->next[i - n_out(r)], i, &out[i]);
}
