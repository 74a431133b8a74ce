/* WeightParams: numbers of a layer as f32, f16, or quantised to 1 to 8 bits, linearly
 * or by a table. f32 and f16 stay views into the file. Source: NeuralNetwork.proto,
 * WeightParams and QuantizationParams. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include "compiler/frontend/protobuf_table.h"

#include <inttypes.h>
#include <string.h>

static const kiln_pb_field linear_fields[] = {
    LIST(1, kiln_coreml_linear, scale, KILN_PB_F32),
    LIST(2, kiln_coreml_linear, bias, KILN_PB_F32),
};
static const kiln_pb_message linear_message =
    MESSAGE("LinearQuantizationParams", kiln_coreml_linear, linear_fields);

static const kiln_pb_field lookup_fields[] = {
    LIST(1, kiln_coreml_lookup, value, KILN_PB_F32),
};
static const kiln_pb_message lookup_message =
    MESSAGE("LookUpTableQuantizationParams", kiln_coreml_lookup, lookup_fields);

static const kiln_pb_field quant_fields[] = {
    FIELD(1, kiln_coreml_quant, bits, KILN_PB_I64),
    SUB(101, kiln_coreml_quant, linear, linear_message),
    SUB(102, kiln_coreml_quant, lookup, lookup_message),
};
static const kiln_pb_message quant_message =
    MESSAGE("QuantizationParams", kiln_coreml_quant, quant_fields);

/* Floats are packed on the wire (proto3), so that they are bytes here. */
static const kiln_pb_field weights_fields[] = {
    FIELD(1, kiln_coreml_weights, f32, KILN_PB_BYTES),
    FIELD(2, kiln_coreml_weights, f16, KILN_PB_BYTES),
    FIELD(30, kiln_coreml_weights, raw, KILN_PB_BYTES),
    FIELD(31, kiln_coreml_weights, int8, KILN_PB_BYTES),
    SUB(40, kiln_coreml_weights, quant, quant_message),
};
const kiln_pb_message kiln_coreml_weights_message =
    MESSAGE("WeightParams", kiln_coreml_weights, weights_fields);

int64_t kiln_coreml_count(const kiln_coreml_weights *w) {
    KILN_ASSERT(w != NULL, "weights that are not there");
    if (w->f32.n > 0)
        return (int64_t)(w->f32.n / 4);
    if (w->f16.n > 0)
        return (int64_t)(w->f16.n / 2);
    return w->quant != NULL && w->quant->bits == 8 ? (int64_t)w->raw.n : -1;
}

static kiln_status refuse_count(kiln_coreml_call *k, const char *what, int64_t want,
                                size_t bytes, size_t is) {
    return kiln_fail(k->c.cx->err, KILN_ERR_PARSE,
                     "'%s' must have %zu bytes for its %" PRId64 " numbers, has %zu; "
                     "is the file damaged?",
                     what, bytes, want, is);
}

/* Number i of those that lie one behind the other, the highest bit first. */
static unsigned bits_at(kiln_str raw, int64_t i, int bits) {
    KILN_ASSERT(bits >= 1 && bits <= 8 &&
                    (uint64_t)(i + 1) * (unsigned)bits <= 8 * raw.n,
                "number %lld of %d bits in %zu bytes", (long long)i, bits, raw.n);
    unsigned v = 0;
    for (int64_t at = i * bits; at < (i + 1) * bits; at++) {
        const unsigned char byte = (unsigned char)raw.p[at / 8];
        v = v << 1 | (unsigned)(byte >> (7 - at % 8) & 1);
    }
    return v;
}

/* n > 0; the first axis has its own scale and bias, or all have one. */
static kiln_status dequantise(kiln_coreml_call *k, const kiln_coreml_weights *w,
                              const char *what, const kiln_type *t, kiln_value **out) {
    const kiln_coreml_quant *const q = w->quant;
    const int64_t n = kiln_type_elems(t);
    const size_t channels = t->rank > 0 ? (size_t)t->dim[0] : 1;
    KILN_ASSERT(n > 0 && n % (int64_t)channels == 0, "'%s' has no numbers", what);
    if (q->bits < 1 || q->bits > 8)
        return kiln_fail(k->c.cx->err, KILN_ERR_PARSE,
                         "'%s' must be quantised to 1 to 8 bits, is to %" PRId64, what,
                         q->bits);
    const int bits = (int)q->bits;
    const size_t want = ((size_t)n * (size_t)bits + 7) / 8;
    if (w->raw.n != want)
        return refuse_count(k, what, n, want, w->raw.n);
    const kiln_coreml_linear *const l = q->linear;
    if ((q->lookup == NULL || q->lookup->n_value != (size_t)1 << bits) &&
        (l == NULL || (l->n_scale != 1 && l->n_scale != channels) ||
         (l->n_bias > 1 && l->n_bias != channels)))
        return kiln_fail(k->c.cx->err, KILN_ERR_PARSE,
                         "'%s' is quantised to %d bits without a table of %d numbers "
                         "or scales for its %zu channels",
                         what, bits, 1 << bits, channels);
    KILN_TRY(kiln_import_spend(k->c.cx, 12 * n));
    double *const v = kiln_array(&k->c.cx->scratch, double, n);
    for (int64_t i = 0; i < n; i++) {
        const unsigned code = bits_at(w->raw, i, bits);
        const size_t c = (size_t)(i / (n / (int64_t)channels));
        if (q->lookup != NULL)
            v[i] = (double)q->lookup->value[code];
        else
            v[i] = (double)l->scale[l->n_scale == 1 ? 0 : c] * code +
                   (l->n_bias == 0 ? 0 : (double)l->bias[l->n_bias == 1 ? 0 : c]);
    }
    *out = kiln_compose_floats(&k->c, KILN_F32, t->rank, t->dim, v);
    return k->c.status;
}

static kiln_value *view(kiln_coreml_call *k, kiln_dtype dtype, const kiln_type *t,
                        const char *what, const void *data) {
    KILN_ASSERT(data != NULL, "'%s' has no bytes", what);
    const kiln_type type = kiln_type_make(dtype, t->rank, t->dim);
    const char *const name = kiln_format(
        k->c.cx->arena, "%s.%s", kiln_import_show(k->c.cx, k->layer->name), what);
    return kiln_graph_add_const(k->c.cx->graph, name, &type, data);
}

kiln_status kiln_coreml_const(kiln_coreml_call *k, const kiln_coreml_weights *w,
                              const char *what, int rank, const int64_t *dim,
                              kiln_value **out) {
    const kiln_type t = kiln_type_make(KILN_F32, rank, dim);
    kiln_err *const err = k->c.cx->err;
    KILN_ASSERT(what != NULL, "weights without a name");
    const kiln_status st = kiln_type_check(&t, err);
    if (st != KILN_OK) {
        kiln_note(err, "reading '%s'", what);
        return st;
    }
    const int64_t n = kiln_type_elems(&t);
    if (w == NULL || n == 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' must hold numbers of shape %s, and %s", what,
                         kiln_shape_text(&k->c.cx->scratch, rank, dim),
                         w == NULL ? "is missing" : "that is empty");
    if (w->int8.n > 0)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "'%s' is quantised for integer products (int8RawValue), "
                         "which are not read; convert the model without "
                         "int8DynamicQuantize",
                         what);
    if (w->quant != NULL && w->raw.n > 0)
        return dequantise(k, w, what, &t, out);
    if (w->f16.n > 0) {
        if (w->f16.n != (size_t)n * 2)
            return refuse_count(k, what, n, (size_t)n * 2, w->f16.n);
        *out =
            kiln_compose_cast(&k->c, view(k, KILN_F16, &t, what, w->f16.p), KILN_F32);
        return k->c.status;
    }
    if (w->f32.n != (size_t)n * 4)
        return refuse_count(k, what, n, (size_t)n * 4, w->f32.n);
    *out = view(k, KILN_F32, &t, what, w->f32.p);
    return KILN_OK;
}

kiln_status kiln_coreml_vector(kiln_coreml_call *k, const kiln_coreml_weights *w,
                               const char *what, int64_t n, kiln_value **out) {
    return kiln_coreml_const(k, w, what, 1, &n, out);
}
