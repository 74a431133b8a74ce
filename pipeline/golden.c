/* A model against golden.json: every case's inputs are made or read and checked by
 * their SHA-256, the model is imported for their shapes, run by the reference, and
 * compared with the outputs that another runtime made.
 */
#include "pipeline/golden.h"
#include "pipeline/golden_twin.h"
#include "compiler/pass/pass.h"

#include <string.h>

static kiln_status read_type(const kiln_json *j, kiln_type *out, kiln_err *err) {
    /* golden.json spells dtypes as numpy and its package ml_dtypes do. Low-bit ones lie
     * in .npy files as u8, int4 and int2 as i8. */
    static const struct {
        const char *name;
        kiln_dtype dtype;
    } spelling[] = {{"float32", KILN_F32},
                    {"float16", KILN_F16},
                    {"float64", KILN_F64},
                    {"int8", KILN_I8},
                    {"uint8", KILN_U8},
                    {"int16", KILN_I16},
                    {"uint16", KILN_U16},
                    {"int32", KILN_I32},
                    {"uint32", KILN_U32},
                    {"int64", KILN_I64},
                    {"uint64", KILN_U64},
                    {"bool", KILN_BOOL},
                    {"float8_e4m3fn", KILN_F8E4M3FN},
                    {"float8_e4m3fnuz", KILN_F8E4M3FNUZ},
                    {"float8_e5m2", KILN_F8E5M2},
                    {"float8_e5m2fnuz", KILN_F8E5M2FNUZ},
                    {"float8_e8m0fnu", KILN_F8E8M0},
                    {"float4_e2m1fn", KILN_F4E2M1},
                    {"int4", KILN_I4},
                    {"uint4", KILN_U4},
                    {"int2", KILN_I2},
                    {"uint2", KILN_U2}};
    const char *name = kiln_json_string(kiln_json_get(j, "dtype"), "");
    size_t k = 0;
    while (k < sizeof spelling / sizeof spelling[0] &&
           strcmp(name, spelling[k].name) != 0)
        k++;
    if (k == sizeof spelling / sizeof spelling[0])
        return kiln_fail(err, KILN_ERR_UNSUPPORTED, "dtype '%s' is not known", name);
    int64_t dim[KILN_MAX_RANK] = {0};
    int rank = 0;
    const kiln_json *shape = kiln_json_get(j, "shape");
    for (const kiln_json *d = kiln_json_first(shape); d != NULL;
         d = kiln_json_next(d)) {
        if (rank == KILN_MAX_RANK)
            return kiln_fail(err, KILN_ERR_LIMIT, "'shape' has more than %d dimensions",
                             KILN_MAX_RANK);
        if (!kiln_json_i64(d, &dim[rank++]))
            return kiln_fail(err, KILN_ERR_PARSE, "'shape' must hold integers");
    }
    *out = kiln_type_make(spelling[k].dtype, rank, dim);
    return kiln_type_check(out, err);
}

static kiln_status check_sha256(const kiln_json *j, const kiln_tensor *t,
                                kiln_err *err) {
    char hex[KILN_SHA256_HEX];
    kiln_sha256_of(t->data, (size_t)kiln_type_bytes(&t->type), hex);
    const char *want = kiln_json_string(kiln_json_get(j, "sha256"), hex);
    if (strcmp(hex, want) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "its SHA-256 must be %s, is %s", want,
                         hex);
    return KILN_OK;
}

static kiln_status read_input(kiln_arena *a, const char *dir, const kiln_json *j,
                              kiln_tensor *out, kiln_err *err) {
    kiln_type t;
    KILN_TRY(read_type(j, &t, err));
    const char *npy = kiln_json_string(kiln_json_get(j, "npy"), NULL);
    if (npy != NULL) {
        if (!kiln_path_is_contained(kiln_str_from(npy)))
            return kiln_fail(err, KILN_ERR_PARSE, "'%s' leads out of '%s'", npy, dir);
        KILN_TRY(kiln_tensor_read_npy(a, kiln_path_join(a, dir, npy), out, err));
        KILN_TRY(kiln_tensor_from_bytes(out, t.dtype, err));
        if (out->type.dtype != t.dtype || !kiln_type_same_shape(&out->type, &t))
            return kiln_fail(err, KILN_ERR_SHAPE, "'%s' must hold %s, holds %s", npy,
                             kiln_type_text(a, &t), kiln_type_text(a, &out->type));
    } else {
        KILN_TRY(kiln_golden_generate(a, kiln_json_get(j, "gen"), &t, out, err));
    }
    return check_sha256(j, out, err);
}

/* The expected output and what of ours it stands for: all of it, or every stride-th
 * element. */
typedef struct expected {
    kiln_tensor want, part;
    int64_t stride; /* 1: all */
} expected;

static kiln_tensor every(kiln_arena *a, const kiln_tensor *whole, int64_t stride) {
    const kiln_dtype dtype = whole->type.dtype;
    const int64_t n = (kiln_type_elems(&whole->type) + stride - 1) / stride;
    const kiln_type sampled = kiln_type_make(dtype, 1, &n);
    const size_t size = kiln_dtype_bytes(dtype);
    const kiln_tensor part = kiln_tensor_new(a, &sampled);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)part.data + (size_t)i * size,
               (const char *)whole->data + (size_t)(i * stride) * size, size);
    return part;
}

static kiln_status read_output(kiln_arena *a, const char *dir, const kiln_json *j,
                               const kiln_tensor *got, expected *out, kiln_err *err) {
    kiln_type t;
    KILN_TRY(read_type(j, &t, err));
    *out = (expected){.part = *got, .stride = 1};
    const char *npy = kiln_json_string(kiln_json_get(j, "npy"), NULL);
    const char *sample = kiln_json_string(kiln_json_get(j, "sample_npy"), NULL);
    const char *file = npy != NULL ? npy : sample;
    if (file == NULL || !kiln_path_is_contained(kiln_str_from(file)))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "output needs 'npy' or 'sample_npy', a file in '%s'", dir);
    KILN_TRY(kiln_tensor_read_npy(a, kiln_path_join(a, dir, file), &out->want, err));
    KILN_TRY(kiln_tensor_from_bytes(&out->want, t.dtype, err));
    if (npy != NULL)
        return KILN_OK;
    if (!kiln_json_i64(kiln_json_get(j, "sample_stride"), &out->stride) ||
        out->stride < 1)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'sample_stride' must be a positive integer");
    if (got->type.dtype != t.dtype || !kiln_type_same_shape(&got->type, &t)) {
        out->want.type = t; /* the comparison will say how they differ */
        return KILN_OK;
    }
    out->part = every(a, got, out->stride);
    /* Samples are a flat list, however the file shapes them. */
    const int64_t n = kiln_type_elems(&out->want.type);
    out->want.type = kiln_type_make(out->want.type.dtype, 1, &n);
    return KILN_OK;
}

/* The other runtime erred as well as who is judged; the bounds have room for both. It
 * may compute a sigmoid or a softmax relative to 1 (by tanh, or 1 / (1 + e^-x)), so
 * that outputs near 0 are off by some units of 2^-24: the network tolerance's last
 * term. What hangs on rounding is not compared. */
static kiln_status compare_bounded(kiln_arena *a, kiln_check *check, const char *name,
                                   const expected *e, const float *bound,
                                   kiln_err *err) {
    kiln_bounded b = {.value = e->want};
    const bool is_float = kiln_dtype_is_float(e->want.type.dtype);
    const float floor = is_float ? (float)kiln_tolerance_network.absolute : 0;
    b.n_elems = kiln_type_elems(&e->part.type);
    b.bound = kiln_array(a, float, b.n_elems);
    for (int64_t i = 0; i < b.n_elems; i++) {
        const float own = bound[i * e->stride];
        b.bound[i] = own > 0 ? own + floor : own;
    }
    return kiln_check_bounded(a, check, name, &e->part, &b, err);
}

/* The bounds of output i, as much of them as there is of its elements. */
static const float *bounds_for(kiln_arena *a, const kiln_golden_result *got, size_t i,
                               const kiln_bounded *reference, const expected *e) {
    kiln_tensor *value = kiln_array(a, kiln_tensor, got->n);
    if (e->stride != 1)
        return reference->bound;
    memcpy(value, got->value, got->n * sizeof *value);
    value[i].type.dtype = KILN_F32;
    value[i].data = reference->bound;
    return kiln_counted_rows(a, got->name, value, got->n, i, &e->want.type).data;
}

/* Formats whose values need no name write an empty one: as good as none. */
static const char *name_in(const kiln_json *j, const char *otherwise) {
    const char *const name = kiln_json_string(kiln_json_get(j, "name"), NULL);
    return name != NULL && name[0] != '\0' ? name : otherwise;
}

static int find_named(const kiln_golden_result *r, const char *name) {
    for (size_t i = 0; i < r->n; i++)
        if (name != NULL && strcmp(r->name[i], name) == 0)
            return (int)i;
    return -1;
}

/* Does the case speak of the model's outputs by names of another format? Its runtime
 * had the same network from there: then it lists all of them, in order. */
static bool has_other_names(const kiln_golden_result *r, const kiln_json *list) {
    const kiln_json *k = kiln_json_first(list);
    size_t n = 0;
    for (; k != NULL; k = kiln_json_next(k), n++)
        if (find_named(r, name_in(k, NULL)) >= 0)
            return false;
    return n == r->n;
}

static bool has_input(const kiln_golden_side *side, const char *name) {
    for (size_t i = 0; i < side->n_inputs; i++)
        if (name != NULL && strcmp(side->input[i], name) == 0)
            return true;
    return false;
}

/* Likewise of inputs. */
static bool is_twin(const kiln_golden_side *side, const kiln_json *list) {
    size_t n = 0;
    for (const kiln_json *k = kiln_json_first(list); k != NULL;
         k = kiln_json_next(k), n++)
        if (has_input(side, name_in(k, NULL)))
            return false;
    return n == side->n_inputs && !side->must_name;
}

/* The outputs as the twin has them. */
static void turn_outputs(kiln_arena *a, const kiln_json *list, kiln_golden_result *got,
                         kiln_bounded **bounds) {
    kiln_tensor *const value = kiln_array(a, kiln_tensor, got->n);
    kiln_bounded *const bound = kiln_array(a, kiln_bounded, got->n);
    const kiln_json *j = kiln_json_first(list);
    for (size_t i = 0; i < got->n; i++, j = kiln_json_next(j)) {
        kiln_type t;
        value[i] = got->value[i];
        if (*bounds != NULL)
            bound[i] = (*bounds)[i];
        if (read_type(j, &t, NULL) != KILN_OK ||
            !kiln_golden_is_turned(&t, value[i].type.rank, value[i].type.dim))
            continue;
        kiln_tensor each = value[i];
        value[i] = kiln_golden_turn(a, &each, false);
        each.type.dtype = KILN_F32;
        each.data = bound[i].bound;
        if (*bounds != NULL)
            bound[i].bound = kiln_golden_turn(a, &each, false).data;
    }
    got->value = value;
    *bounds = *bounds != NULL ? bound : NULL;
}

static int find_output(const kiln_golden_result *r, const char *name, size_t position,
                       bool by_position) {
    if (name == NULL || by_position)
        return position < r->n ? (int)position : -1;
    return find_named(r, name);
}

/* Inputs by name where golden.json gives one of the model's, else by position. */
static kiln_status read_inputs(kiln_arena *a, const kiln_golden_side *side,
                               const char *dir, const kiln_json *list,
                               kiln_value_binding **out, size_t *n, kiln_err *err) {
    *n = kiln_json_size(list);
    if (*n > side->n_inputs)
        return kiln_fail(err, KILN_ERR_SHAPE, "%zu inputs for a model of %zu", *n,
                         side->n_inputs);
    *out = kiln_array(a, kiln_value_binding, *n);
    const bool by_position = is_twin(side, list);
    const kiln_json *j = kiln_json_first(list);
    for (size_t i = 0; i < *n; i++, j = kiln_json_next(j)) {
        kiln_value_binding *b = &(*out)[i];
        const char *const own = side->must_name ? NULL : side->input[i];
        b->name = by_position ? own : name_in(j, own);
        if (b->name == NULL)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "input %zu must have a 'name': some inputs of the model "
                             "are fixed in the package, so their order says nothing",
                             i);
        const kiln_status st = read_input(a, dir, j, &b->value, err);
        if (st != KILN_OK) {
            kiln_note(err, "making input '%s'", b->name);
            return st;
        }
        const kiln_shape_binding *const s =
            side->shape != NULL ? &side->shape[i] : NULL;
        if (by_position && s != NULL &&
            kiln_golden_is_turned(&b->value.type, s->rank, s->dim))
            b->value = kiln_golden_turn(a, &b->value, true);
    }
    return KILN_OK;
}

/* `reference`: the bounds of all outputs; NULL: by the side's tolerance. */
static kiln_status compare_outputs(kiln_arena *a, const char *dir,
                                   const kiln_golden_side *side,
                                   const kiln_golden_result *made,
                                   kiln_bounded *reference, const kiln_json *list,
                                   kiln_check *check, kiln_err *err) {
    kiln_golden_result turned = *made;
    const kiln_golden_result *const got = &turned;
    const bool by_position = has_other_names(got, list);
    if (by_position)
        turn_outputs(a, list, &turned, &reference);
    size_t position = 0;
    for (const kiln_json *k = kiln_json_first(list); k != NULL; k = kiln_json_next(k)) {
        const char *name = name_in(k, NULL);
        const int i = find_output(got, name, position++, by_position);
        if (i < 0)
            return kiln_fail(err, KILN_ERR_SHAPE, "the model has no output '%s'",
                             name != NULL ? name : "?");
        expected e;
        KILN_TRY(read_output(a, dir, k, &got->value[i], &e, err));
        if (e.stride == 1) /* not a sample */
            e.part = kiln_counted_rows(a, got->name, got->value, got->n, (size_t)i,
                                       &e.want.type);
        if (reference != NULL)
            KILN_TRY(compare_bounded(a, check, got->name[i], &e,
                                     bounds_for(a, got, (size_t)i, &reference[i], &e),
                                     err));
        else
            KILN_TRY(kiln_check_network(a, check, got->name[i], &e.part, &e.want,
                                        &side->tolerance, err));
    }
    return position > 0 ? KILN_OK
                        : kiln_fail(err, KILN_ERR_PARSE, "the case lists no outputs");
}

/* First as narrowly as for compiled code, which does what the graph says. Other engines
 * merge what lies between two quantisers into integer kernels, which may round to the
 * step beside, and compute coordinates in f32: only where the first fails, and there is
 * such an operator. */
static kiln_status
compare_case(kiln_arena *a, const char *dir, const kiln_golden_side *side,
             const kiln_golden_result *got, const kiln_value_binding *in, size_t n_in,
             const kiln_json *list, kiln_check *check, kiln_err *err) {
    enum { SEED = 1 };
    const kiln_graph *g = got->imported;
    if (g == NULL)
        return compare_outputs(a, dir, side, got, NULL, list, check, err);
    kiln_tensor *given = NULL;
    kiln_bounded *b = kiln_array(a, kiln_bounded, g->outputs.n);
    kiln_check narrow = *check;
    KILN_TRY(kiln_golden_inputs_of(a, g, in, n_in, &given, err));
    KILN_TRY(kiln_expect_network(a, g, given, SEED, b, err));
    KILN_TRY(compare_outputs(a, dir, side, got, b, list, &narrow, err));
    if (narrow.outcome == KILN_PASSED || !kiln_graph_errs_elsewhere(g)) {
        *check = narrow;
        return KILN_OK;
    }
    KILN_TRY(kiln_expect_elsewhere(a, g, given, SEED, b, err));
    check->elsewhere = true;
    return compare_outputs(a, dir, side, got, b, list, check, err);
}

/* What the cases before have left: the next one begins with it. */
typedef struct state {
    kiln_value_binding *v;
    size_t n;
} state;

/* Inputs that the case gives, and states behind them. */
static kiln_value_binding *with_state(kiln_arena *a, const kiln_value_binding *in,
                                      size_t n, const state *s) {
    kiln_value_binding *const all = kiln_array(a, kiln_value_binding, n + s->n);
    for (size_t i = 0; i < n; i++)
        all[i] = in[i];
    for (size_t i = 0; i < s->n; i++)
        all[n + i] = s->v[i];
    return all;
}

static state state_after(kiln_arena *a, const kiln_golden_result *got) {
    state s = {kiln_array(a, kiln_value_binding, got->n), 0};
    for (size_t i = 0; i < got->n; i++) {
        const char *const name = kiln_golden_state_of(a, got->name[i]);
        if (name != NULL)
            s.v[s.n++] = (kiln_value_binding){.name = name, .value = got->value[i]};
    }
    return s;
}

static kiln_status run_case(kiln_arena *a, const char *dir,
                            const kiln_golden_side *side, const kiln_json *j, state *s,
                            kiln_check *check, kiln_err *err) {
    kiln_value_binding *in = NULL;
    kiln_golden_result got = {.n = 0};
    size_t n_in = 0;
    KILN_TRY(read_inputs(a, side, dir, kiln_json_get(j, "inputs"), &in, &n_in, err));
    in = with_state(a, in, n_in, s);
    n_in += s->n;
    KILN_TRY(side->run(side->user, a, in, n_in, &got, err));
    if (got.failure != NULL) {
        check->outcome = KILN_FAILED;
        check->reason = got.failure;
        return KILN_OK;
    }
    *s = state_after(a, &got);
    KILN_TRY(compare_case(a, dir, side, &got, in, n_in, kiln_json_get(j, "outputs"),
                          check, err));
    if (check->outcome == KILN_PASSED && check->n_elems > 0 && check->n_held == 0) {
        check->outcome = KILN_UNSUPPORTED;
        check->reason = "every element hangs on rounding: nothing could be compared";
    }
    return KILN_OK;
}

kiln_status kiln_verify_golden_cases(kiln_arena *a, const char *dir,
                                     const kiln_golden_side *side, kiln_checks *out,
                                     kiln_err *err) {
    const char *path = kiln_path_join(a, dir, "golden.json");
    const kiln_json *doc = NULL;
    KILN_TRY(kiln_json_read(a, path, &doc, err));
    const kiln_json *cases = kiln_json_get(doc, "cases");
    if (kiln_json_size(cases) == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' lists no cases", path);
    state s = {.n = 0};
    int index = 0;
    for (const kiln_json *j = kiln_json_first(cases); j != NULL;
         j = kiln_json_next(j)) {
        kiln_check c = {.name = kiln_format(a, "case %d%s", index, side->suffix),
                        .group = "",
                        .reason = ""};
        const int64_t begin = kiln_now_ns();
        kiln_status st = run_case(a, dir, side, j, &s, &c, err);
        if (st == KILN_ERR_UNSUPPORTED && side->may_refuse) {
            c.outcome = KILN_UNSUPPORTED;
            c.reason = kiln_str_dup(a, err->text);
            kiln_err_clear(err);
            st = KILN_OK;
        }
        if (st != KILN_OK) {
            kiln_note(err, "verifying case %d of '%s'", index, path);
            return st;
        }
        c.time_ms = (kiln_now_ns() - begin) / 1000000;
        kiln_checks_add(a, out, &c);
        index++;
    }
    return KILN_OK;
}
