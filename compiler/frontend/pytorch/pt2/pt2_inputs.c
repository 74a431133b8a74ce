/* An exported program's signature: what its inputs are, and what it gives. */
#include <inttypes.h>
#include <string.h>

#include "compiler/frontend/pytorch/pt2/pt2_internal.h"

/* ---- inputs ----------------------------------------------------------------------- */

/* {"as_tensor": {"name": "x"}}: the name; else NULL, and *v is the argument. */
static const char *tensor_name(const kiln_json *arg) {
    const kiln_json *const t = kiln_json_get(arg, "as_tensor");
    const char *const name = kiln_json_string(kiln_json_get(t, "name"), "");
    return name[0] != '\0' ? name : NULL;
}

static kiln_status read_user(const kiln_json *v, kiln_pt2_input *out, kiln_err *err) {
    const char *tag;
    const kiln_json *const arg = kiln_json_get(v, "arg");
    const char *const name = tensor_name(arg);
    kiln_pt2_union(arg, &tag);
    *out = (kiln_pt2_input){.role = KILN_PT2_GIVEN, .name = name};
    if (name != NULL)
        return KILN_OK;
    if (strncmp(tag, "as_sym_", 7) == 0)
        return kiln_fail(
            err, KILN_ERR_UNSUPPORTED,
            "an input that is a number, not a tensor, is not read; give it "
            "a value when the model is exported");
    *out = (kiln_pt2_input){.role = KILN_PT2_FIXED, .value = arg};
    return KILN_OK;
}

static kiln_status read_input(const kiln_json *spec, kiln_pt2_input *out,
                              kiln_err *err) {
    static const struct {
        const char *tag, *stored;
        kiln_pt2_role role;
    } kinds[] = {{"parameter", "parameter_name", KILN_PT2_WEIGHT},
                 {"buffer", "buffer_name", KILN_PT2_WEIGHT},
                 {"tensor_constant", "tensor_constant_name", KILN_PT2_CONSTANT}};
    const char *tag;
    const kiln_json *const v = kiln_pt2_union(spec, &tag);
    if (strcmp(tag, "user_input") == 0)
        return read_user(v, out, err);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(tag, kinds[i].tag) == 0) {
            *out = (kiln_pt2_input){
                .role = kinds[i].role,
                .name = kiln_json_string(kiln_json_get(kiln_json_get(v, "arg"), "name"),
                                         ""),
                .stored = kiln_json_string(kiln_json_get(v, kinds[i].stored), ""),
                .is_persistent = kiln_json_bool(kiln_json_get(v, "persistent"), true)};
            return KILN_OK;
        }
    if (strcmp(tag, "constant_input") == 0) {
        *out =
            (kiln_pt2_input){.role = KILN_PT2_FIXED,
                             .name = kiln_json_string(kiln_json_get(v, "name"), NULL),
                             .value = kiln_json_get(v, "value")};
        return KILN_OK;
    }
    return kiln_fail(err, KILN_ERR_UNSUPPORTED, "inputs of kind '%s' are not read",
                     tag[0] != '\0' ? tag : "none");
}

kiln_status kiln_pt2_inputs(kiln_arena *a, const kiln_pt2_file *f, kiln_pt2_input **out,
                            size_t *n, kiln_err *err) {
    const kiln_json *const specs = kiln_json_get(f->signature, "input_specs");
    const size_t count = kiln_json_size(specs);
    size_t i = 0;
    if (count > KILN_PT2_MAX_INPUTS)
        return kiln_fail(err, KILN_ERR_LIMIT, "a program may have %d inputs, has %zu",
                         KILN_PT2_MAX_INPUTS, count);
    *out = kiln_array(a, kiln_pt2_input, count);
    for (const kiln_json *j = kiln_json_first(specs); j != NULL; j = kiln_json_next(j))
        KILN_TRY(read_input(j, &(*out)[i++], err));
    *n = count;
    return KILN_OK;
}

static kiln_status declare(kiln_arena *a, const kiln_pt2_file *f, const char *name,
                           kiln_declared_input *out, kiln_err *err) {
    const kiln_json *const meta =
        kiln_json_get(kiln_json_get(f->graph, "tensor_values"), name);
    *out = (kiln_declared_input){.name = kiln_str_dup(a, name), .has_type = true};
    const kiln_status st = kiln_pt2_tensor_meta(a, meta, &out->dtype, &out->rank,
                                                out->dim, out->symbol, err);
    if (st != KILN_OK)
        kiln_note(err, "reading input '%s'",
                  kiln_str_printable(a, kiln_str_from(name), 100));
    return st;
}

kiln_status kiln_pt2_declared(kiln_arena *a, const kiln_pt2_file *f,
                              kiln_declared_input **out, size_t *n, kiln_err *err) {
    kiln_pt2_input *in;
    size_t count, given = 0;
    KILN_TRY(kiln_pt2_inputs(a, f, &in, &count, err));
    *out = kiln_array(a, kiln_declared_input, count);
    for (size_t i = 0; i < count; i++)
        if (in[i].role == KILN_PT2_GIVEN)
            KILN_TRY(declare(a, f, in[i].name, &(*out)[given++], err));
    *n = given;
    return KILN_OK;
}

/* ---- symbols: a size that is bound once is bound everywhere ------------------------ */

typedef struct symbols {
    kiln_pt2_cx *cx;
    kiln_map size; /* symbol -> int64_t */
} symbols;

static kiln_status set_symbol(symbols *s, const char *symbol, int64_t size) {
    const kiln_str key = kiln_str_from(symbol);
    const int64_t *const known = kiln_map_get(&s->size, key);
    if (known != NULL && *known != size)
        return kiln_pt2_fail(s->cx, KILN_ERR_SHAPE,
                             "dimension '%s' is bound to %" PRId64 " and to %" PRId64,
                             symbol, *known, size);
    int64_t *const slot = kiln_new(&s->cx->common.scratch, int64_t);
    *slot = size;
    kiln_map_set(&s->cx->common.scratch, &s->size, key, slot);
    return KILN_OK;
}

static const kiln_declared_input *find(const kiln_declared_input *in, size_t n,
                                       const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(in[i].name, name) == 0)
            return &in[i];
    return NULL;
}

static kiln_status bind_symbols(kiln_pt2_cx *cx, kiln_declared_input *in, size_t n) {
    const kiln_import_options *const o = cx->options;
    symbols s = {.cx = cx};
    for (size_t k = 0; o != NULL && k < o->n_shapes; k++) {
        const kiln_declared_input *const d = find(in, n, o->shapes[k].name);
        for (int i = 0; d != NULL && i < d->rank && i < o->shapes[k].rank; i++)
            if (d->dim[i] < 0 && d->symbol[i] != NULL)
                KILN_TRY(set_symbol(&s, d->symbol[i], o->shapes[k].dim[i]));
    }
    for (size_t k = 0; k < n; k++)
        for (int i = 0; i < in[k].rank; i++) {
            const int64_t *const size =
                in[k].symbol[i] != NULL
                    ? kiln_map_get(&s.size, kiln_str_from(in[k].symbol[i]))
                    : NULL;
            if (in[k].dim[i] < 0 && size != NULL)
                in[k].dim[i] = *size;
        }
    return KILN_OK;
}

kiln_status kiln_pt2_bind_inputs(kiln_pt2_cx *cx) {
    kiln_arena *const a = &cx->common.scratch;
    kiln_declared_input *declared;
    kiln_pt2_input *in;
    size_t n, n_declared, given = 0;
    KILN_TRY(kiln_pt2_inputs(a, cx->file, &in, &n, cx->common.err));
    KILN_TRY(kiln_pt2_declared(a, cx->file, &declared, &n_declared, cx->common.err));
    KILN_TRY(bind_symbols(cx, declared, n_declared));
    kiln_value **const v = kiln_array(a, kiln_value *, n_declared);
    KILN_TRY(kiln_import_bind_inputs(&cx->common, cx->options, declared, n_declared,
                                     false, cx->report, v));
    for (size_t i = 0; i < n; i++) {
        kiln_aten_value made = kiln_aten_none();
        if (in[i].role == KILN_PT2_GIVEN)
            made = kiln_aten_of_tensor(v[given++]);
        else if (in[i].role == KILN_PT2_FIXED && in[i].value != NULL)
            KILN_TRY(kiln_pt2_argument(cx, in[i].value, &made));
        else if (in[i].role != KILN_PT2_FIXED) {
            made = kiln_aten_of_tensor(NULL);
            KILN_TRY(kiln_pt2_tensor(cx, &in[i], &made.tensor));
            kiln_map_set(a, &cx->kept, kiln_str_from(in[i].name), v);
        }
        if (in[i].name != NULL)
            kiln_pt2_set(cx, in[i].name, made);
    }
    return KILN_OK;
}

/* ---- outputs ---------------------------------------------------------------------- */

/* Numbers are no outputs, nor is what is written into an input. */
kiln_status kiln_pt2_set_outputs(kiln_pt2_cx *cx) {
    const kiln_json *const specs = kiln_json_get(cx->file->signature, "output_specs");
    kiln_graph *const g = cx->common.graph;
    for (const kiln_json *j = kiln_json_first(specs); j != NULL;
         j = kiln_json_next(j)) {
        const char *tag;
        const kiln_json *const v = kiln_pt2_union(j, &tag);
        const char *const name = tensor_name(kiln_json_get(v, "arg"));
        kiln_aten_value made;
        if (strcmp(tag, "buffer_mutation") == 0)
            return kiln_pt2_fail(
                cx, KILN_ERR_UNSUPPORTED,
                "buffer '%s' is written for the next call; models that keep a state "
                "are not read",
                kiln_import_show(&cx->common,
                                 kiln_str_from(kiln_json_string(
                                     kiln_json_get(v, "buffer_name"), ""))));
        if (strcmp(tag, "user_output") != 0 || name == NULL)
            continue;
        KILN_TRY(kiln_pt2_get(cx, name, &made));
        if (made.kind != KILN_ATEN_TENSOR)
            return kiln_pt2_fail(cx, KILN_ERR_PARSE, "output '%s' is no tensor",
                                 kiln_import_show(&cx->common, kiln_str_from(name)));
        static const kiln_pt2_site none = {"output", "output"};
        KILN_TRY(kiln_aten_settle(&cx->common, &none, &made.tensor));
        kiln_graph_add_output(g, made.tensor, kiln_str_dup(cx->common.arena, name));
    }
    if (g->outputs.n == 0)
        return kiln_pt2_fail(cx, KILN_ERR_UNSUPPORTED,
                             "the program gives no tensor back");
    kiln_import_add_counts(&cx->common, g);
    return KILN_OK;
}
