#include "tests/support/import/import_run.h"

#include <string.h>

static void put_const(kiln_onnx_writer *m, const kiln_test_import_const *c) {
    enum { FLOAT8E4M3FN = 17 };
    const bool is_bool = c->type == KILN_ONNX_BOOL;
    const unsigned char byte = (unsigned char)(is_bool ? c->i[0] != 0 : c->i[0]);
    const void *data =
        c->type == KILN_ONNX_FLOAT ? (const void *)c->f : (const void *)c->i;
    size_t bytes =
        c->n * (c->type == KILN_ONNX_FLOAT ? sizeof(float) : sizeof(int64_t));
    if (is_bool || c->type == FLOAT8E4M3FN) { /* of one element */
        data = &byte;
        bytes = 1;
    }
    kiln_onnx_put_initializer(
        m, kiln_onnx_raw_tensor(m->arena, c->name, c->type, c->shape, data, bytes));
}

void kiln_test_put_attr(kiln_onnx_writer *m, const kiln_test_import_attr *a) {
    switch (a->kind) {
    case KILN_TEST_IMPORT_INT:
        kiln_onnx_put_attr_int(m, a->name, a->i);
        break;
    case KILN_TEST_IMPORT_FLOAT:
        kiln_onnx_put_attr_float(m, a->name, a->f);
        break;
    case KILN_TEST_IMPORT_TEXT:
        kiln_onnx_put_attr_text(m, a->name, a->text);
        break;
    case KILN_TEST_IMPORT_INTS:
        kiln_onnx_put_attr_ints(m, a->name, a->ints, a->n);
        break;
    }
}

static kiln_str build(kiln_arena *a, const kiln_test_import_row *r) {
    kiln_onnx_writer m;
    kiln_onnx_writer_init(&m, a, "g");
    for (int i = 0; i < KILN_TEST_IMPORT_INPUTS && r->inputs[i].name != NULL; i++)
        kiln_onnx_put_input(&m, r->inputs[i].name, r->inputs[i].type,
                            r->inputs[i].shape);
    for (int i = 0; i < KILN_TEST_IMPORT_CONSTS && r->consts[i].name != NULL; i++)
        put_const(&m, &r->consts[i]);
    kiln_onnx_put_node(&m, r->op, "node", r->in, r->out);
    for (int i = 0; i < KILN_TEST_IMPORT_ATTRS && r->attrs[i].name != NULL; i++)
        kiln_test_put_attr(&m, &r->attrs[i]);
    kiln_str rest = kiln_str_from(r->out), out;
    for (int i = 0; i < KILN_TEST_IMPORT_OUTS && kiln_str_cut(&rest, ',', &out); i++)
        kiln_onnx_put_output(&m, kiln_str_dupv(a, out),
                             r->out_types[i] != 0 ? r->out_types[i] : KILN_ONNX_FLOAT,
                             NULL);
    return kiln_onnx_finish_model(&m, 8, r->opset);
}

void kiln_test_check_import(void **state) {
    const kiln_test_import_row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_import_report report = {0};
    kiln_graph *g = NULL;
    const kiln_status st = kiln_import_onnx_bytes(&a, build(&a, r), "test.onnx", NULL,
                                                  NULL, &g, &report, &err);
    if (r->fails != KILN_OK) {
        kiln_assert_fails(st, r->fails, &err, r->text);
        kiln_arena_fini(&a);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_buf text;
    kiln_buf_init(&text, &a);
    kiln_graph_print(&text, g, NULL);
    for (int i = 0; i < KILN_TEST_IMPORT_TEXTS && r->want[i] != NULL; i++)
        if (strstr(text.p, r->want[i]) == NULL)
            fail_msg("want '%s' in\n%s", r->want[i], text.p);
    if (r->lacks != NULL && strstr(text.p, r->lacks) != NULL)
        fail_msg("want no '%s' in\n%s", r->lacks, text.p);
    kiln_arena_fini(&a);
}
