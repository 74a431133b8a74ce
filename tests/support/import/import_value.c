#include "tests/support/import/import_value.h"

#include "compiler/reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { U8 = 2, I8 = 3, I16 = 5 };

static size_t count_of(const char *shape) {
    size_t n = 1;
    for (const char *s = shape; *s != '\0';) {
        n *= (size_t)strtoul(s, NULL, 10);
        s = strchr(s, ',') == NULL ? "" : strchr(s, ',') + 1;
    }
    return n;
}

static size_t put_number(unsigned char *to, int type, double v) {
    switch (type) {
    case KILN_ONNX_FLOAT:
        memcpy(to, &(float){(float)v}, 4);
        return 4;
    case KILN_ONNX_INT64:
        memcpy(to, &(int64_t){(int64_t)v}, 8);
        return 8;
    case KILN_ONNX_INT32:
        memcpy(to, &(int32_t){(int32_t)v}, 4);
        return 4;
    case I16:
        memcpy(to, &(int16_t){(int16_t)v}, 2);
        return 2;
    default: /* u8, i8, bool */
        *to = (unsigned char)(int)v;
        return 1;
    }
}

static kiln_str tensor_of(kiln_arena *a, const char *name,
                          const kiln_test_value_input *in) {
    unsigned char bytes[8 * KILN_TEST_VALUE_ELEMS];
    size_t n = 0;
    const size_t count = count_of(in->shape);
    assert_true(count <= KILN_TEST_VALUE_ELEMS);
    for (size_t i = 0; i < count; i++)
        n += put_number(bytes + n, in->type, in->v[i]);
    return kiln_onnx_raw_tensor(a, name, in->type, in->shape,
                                kiln_arena_dup(a, bytes, n), n);
}

static void put_attrs(kiln_onnx_writer *m, const kiln_test_value_row *r) {
    for (int i = 0; i < KILN_TEST_VALUE_ATTRS && r->attrs[i].name != NULL; i++)
        kiln_test_put_attr(m, &r->attrs[i]);
    if (r->n_params == 0)
        return;
    kiln_buf attr;
    kiln_buf_init(&attr, m->arena);
    for (size_t i = 0; i < r->n_params; i++)
        kiln_pb_put_float(&attr, 7, (float)r->params[i]);
    kiln_onnx_put_attr(m, &attr, "activation_params", 6);
}

/* The last name of a list. */
static const char *last_of(const char *names) {
    const char *const comma = strrchr(names, ',');
    return comma == NULL ? names : comma + 1;
}

static kiln_str build(kiln_arena *a, const kiln_test_value_row *r) {
    kiln_onnx_writer m;
    kiln_buf names;
    kiln_onnx_writer_init(&m, a, "g");
    kiln_buf_init(&names, a);
    int n = KILN_TEST_VALUE_INPUTS;
    while (n > 0 && r->in[n - 1].type == 0)
        n--;
    for (int i = 0; i < n; i++) {
        const kiln_test_value_input *const in = &r->in[i];
        const char *const name = kiln_format(a, "x%d", i);
        kiln_buf_printf(&names, "%s%s", i == 0 ? "" : ",", in->type == 0 ? "" : name);
        if (in->type != 0 && in->is_const)
            kiln_onnx_put_initializer(&m, tensor_of(a, name, in));
        else if (in->type != 0)
            kiln_onnx_put_input(&m, name, in->type, in->shape);
    }
    const char *const out = r->out == NULL ? "y" : r->out;
    kiln_onnx_put_node(&m, r->op, "node", kiln_buf_str(&names).p, out);
    kiln_onnx_put_domain(&m, r->domain == NULL ? "com.microsoft" : r->domain);
    put_attrs(&m, r);
    kiln_buf output; /* without a type: the operator decides */
    kiln_buf_init(&output, a);
    kiln_pb_put_text(&output, 1, last_of(out));
    kiln_pb_put_bytes(&m.graph, 12, kiln_buf_str(&output));
    kiln_onnx_put_opset(&m, "com.microsoft", 1);
    kiln_onnx_put_opset(&m, "com.microsoft.nchwc", 1);
    return kiln_onnx_finish_model(&m, 8, 14);
}

/* Inputs that are none of the graph's are initializers. */
static kiln_tensor *inputs_of(kiln_arena *a, const kiln_test_value_row *r) {
    kiln_tensor *const in = kiln_array(a, kiln_tensor, KILN_TEST_VALUE_INPUTS);
    size_t n = 0;
    for (int i = 0; i < KILN_TEST_VALUE_INPUTS; i++) {
        unsigned char *data = kiln_arena_alloc(a, 8 * (size_t)KILN_TEST_VALUE_ELEMS);
        const kiln_test_value_input *const x = &r->in[i];
        if (x->type == 0 || x->is_const)
            continue;
        in[n++].data = data;
        for (size_t k = 0, at = 0; k < count_of(x->shape); k++)
            at += put_number(data + at, x->type, x->v[k]);
    }
    return in;
}

static void check_numbers(const kiln_test_value_row *r, kiln_arena *a,
                          const kiln_tensor *t) {
    kiln_wide y = kiln_wide_new(a, &t->type);
    kiln_widen(&t->type, t->data, &y);
    assert_int_equal(kiln_type_elems(&t->type), (int64_t)r->n_want);
    for (size_t i = 0; i < r->n_want; i++) {
        const double got = y.f != NULL ? y.f[i] : (double)y.i[i];
        if (!(fabs(got - r->want[i]) <= (y.f != NULL ? 1e-5 : 0)))
            fail_msg("element %zu must be %.9g, is %.9g", i, r->want[i], got);
    }
}

void kiln_test_check_value(void **state) {
    const kiln_test_value_row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_import_report report = {0};
    kiln_graph *g = NULL;
    kiln_tensor out[1];
    const kiln_status st = kiln_import_onnx_bytes(&a, build(&a, r), "test.onnx", NULL,
                                                  NULL, &g, &report, &err);
    if (r->fails != KILN_OK) {
        kiln_assert_fails(st, r->fails, &err, r->text);
        kiln_arena_fini(&a);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_tensor *const in = inputs_of(&a, r);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i].type = g->inputs.v[i]->type;
    kiln_assert_status_ok(kiln_ref_run(&a, g, in, g->inputs.n, out, &err), &err);
    check_numbers(r, &a, &out[0]);
    kiln_arena_fini(&a);
}
