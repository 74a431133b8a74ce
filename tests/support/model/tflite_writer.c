/* TensorFlow Lite models for tests. Source: TensorFlow Lite, schema.fbs, version 3. */
#include "tests/support/model/tflite_writer.h"

#include "tests/support/kiln_test.h"

enum { VERSION = 3, OLD_CODES = 127 };

static void begin_subgraph(kiln_tfw *m) {
    m->subgraph = kiln_fbw_add(m->subgraphs);
    m->tensors = kiln_fbw_tables(m->subgraph, 0);
    m->ops = kiln_fbw_tables(m->subgraph, 3);
    kiln_fbw_text(m->subgraph, 4, "main");
    m->n_tensors = 0;
    m->inputs.n = m->outputs.n = 0;
}

static void end_subgraph(kiln_tfw *m) {
    kiln_fbw_ints(m->subgraph, 1, m->inputs.v, m->inputs.n);
    kiln_fbw_ints(m->subgraph, 2, m->outputs.v, m->outputs.n);
}

void kiln_tfw_next_subgraph(kiln_tfw *m) {
    end_subgraph(m);
    begin_subgraph(m);
}

kiln_tfw kiln_tfw_begin(void) {
    kiln_tfw m = {.model = kiln_fbw_new()};
    kiln_fbw_int(m.model, 0, 4, VERSION);
    m.codes = kiln_fbw_tables(m.model, 1);
    m.subgraphs = kiln_fbw_tables(m.model, 2);
    kiln_fbw_text(m.model, 3, "made by a test");
    m.buffers = kiln_fbw_tables(m.model, 4);
    kiln_fbw_add(m.buffers); /* 0: the empty one */
    m.n_buffers = 1;
    begin_subgraph(&m);
    return m;
}

int kiln_tfw_tensor(kiln_tfw *m, const char *name, int type, size_t rank,
                    const int32_t *shape, const void *data, size_t bytes) {
    kiln_fbw_table *const t = kiln_fbw_add(m->tensors);
    m->tensor = t;
    kiln_fbw_ints(t, 0, shape, rank);
    kiln_fbw_int(t, 1, 1, type);
    kiln_fbw_text(t, 3, name);
    if (data != NULL) {
        kiln_fbw_vector(kiln_fbw_add(m->buffers), 0, data, bytes, 1);
        kiln_fbw_int(t, 2, 4, m->n_buffers++);
    }
    return m->n_tensors++;
}

void kiln_tfw_scales(kiln_tfw *m, const float *scale, const int64_t *zero, size_t n,
                     int axis) {
    kiln_fbw_table *const q = kiln_fbw_sub(m->tensor, 4);
    kiln_fbw_vector(q, 2, scale, n, sizeof *scale);
    kiln_fbw_vector(q, 3, zero, n, sizeof *zero);
    kiln_fbw_int(q, 6, 4, axis);
}

void kiln_tfw_input(kiln_tfw *m, int tensor) {
    kiln_vec_push(kiln_test_arena(), &m->inputs, tensor);
}

void kiln_tfw_output(kiln_tfw *m, int tensor) {
    kiln_vec_push(kiln_test_arena(), &m->outputs, tensor);
}

kiln_fbw_table *kiln_tfw_op(kiln_tfw *m, int code, const char *custom, size_t n_in,
                            const int32_t *in, size_t n_out, const int32_t *out) {
    kiln_fbw_table *const c = kiln_fbw_add(m->codes), *const op = kiln_fbw_add(m->ops);
    m->op = op;
    kiln_fbw_int(c, 0, 1, code < OLD_CODES ? code : OLD_CODES);
    if (custom != NULL)
        kiln_fbw_text(c, 1, custom);
    kiln_fbw_int(c, 3, 4, code);
    kiln_fbw_int(op, 0, 4, m->n_codes++);
    kiln_fbw_ints(op, 1, in, n_in);
    kiln_fbw_ints(op, 2, out, n_out);
    kiln_fbw_int(op, 3, 1, 1);
    return kiln_fbw_sub(op, 4);
}

kiln_str kiln_tfw_write(kiln_tfw *m) {
    end_subgraph(m);
    return kiln_fbw_write(m->model, "TFL3");
}
