/* Arguments of an exported program's calls: tagged unions of its JSON become values. */
#include <math.h>
#include <string.h>

#include "compiler/frontend/pytorch/pt2/pt2_internal.h"

void kiln_pt2_set(kiln_pt2_cx *cx, const char *name, kiln_aten_value v) {
    kiln_arena *const a = &cx->common.scratch;
    kiln_aten_value *const slot = kiln_new(a, kiln_aten_value);
    *slot = v;
    KILN_ASSERT(v.kind != KILN_ATEN_TENSOR || v.tensor != NULL, "'%s' is nothing",
                name);
    kiln_map_set(a, &cx->value, kiln_str_from(name), slot);
}

kiln_status kiln_pt2_get(kiln_pt2_cx *cx, const char *name, kiln_aten_value *out) {
    KILN_TRY(kiln_pt2_refresh(cx, name));
    const kiln_aten_value *const v = kiln_map_get(&cx->value, kiln_str_from(name));
    if (v == NULL)
        return kiln_pt2_fail(cx, KILN_ERR_PARSE, "no node before it makes '%s'",
                             kiln_import_show(&cx->common, kiln_str_from(name)));
    *out = *v;
    return KILN_OK;
}

const kiln_json *kiln_pt2_union(const kiln_json *v, const char **tag) {
    *tag = "";
    if (!kiln_json_is_object(v))
        return NULL;
    for (const kiln_json *j = kiln_json_first(v); j != NULL; j = kiln_json_next(j))
        if (!kiln_json_is_null(j)) {
            *tag = kiln_json_key(j);
            return j;
        }
    return NULL;
}

/* ---- single values ---------------------------------------------------------------- */

/* Integers that a double does not hold are ends that mean "all": the nearest one does. */
static kiln_aten_value integer(const kiln_json *v) {
    int64_t i = 0;
    const double limit = 0x1p63;
    if (kiln_json_i64(v, &i))
        return kiln_aten_of_int(i);
    const double d = kiln_json_number(v, 0);
    if (d >= limit || d < -limit)
        return kiln_aten_of_int(d > 0 ? INT64_MAX : INT64_MIN);
    return kiln_aten_of_int((int64_t)d);
}

static kiln_aten_value floating(const kiln_json *v) {
    const char *const text = kiln_json_string(v, "");
    if (!kiln_json_is_string(v))
        return kiln_aten_of_float(kiln_json_number(v, 0));
    return kiln_aten_of_float(strcmp(text, "Infinity") == 0    ? (double)INFINITY
                              : strcmp(text, "-Infinity") == 0 ? -(double)INFINITY
                                                               : (double)NAN);
}

static kiln_status named(kiln_pt2_cx *cx, const kiln_json *v, const char *member,
                         kiln_aten_value *out) {
    const kiln_json *const name = kiln_json_get(v, member);
    if (!kiln_json_is_string(name))
        return kiln_pt2_fail(cx, KILN_ERR_PARSE, "an argument has no '%s'", member);
    return kiln_pt2_get(cx, kiln_json_string(name, ""), out);
}

/* {"as_name": ...} of a number that the graph computes, or the number. */
static kiln_status symbolic(kiln_pt2_cx *cx, const kiln_json *v, kiln_aten_value *out) {
    const char *tag;
    const kiln_json *const inner = kiln_pt2_union(v, &tag);
    if (strcmp(tag, "as_name") == 0)
        return named(cx, v, "as_name", out);
    if (strcmp(tag, "as_int") == 0)
        *out = integer(inner);
    else if (strcmp(tag, "as_float") == 0)
        *out = floating(inner);
    else if (strcmp(tag, "as_bool") == 0)
        *out = kiln_aten_of_bool(kiln_json_bool(inner, false));
    else
        return kiln_pt2_fail(cx, KILN_ERR_PARSE, "a symbolic argument has no value");
    return KILN_OK;
}

static kiln_status tensor(kiln_pt2_cx *cx, const kiln_json *v, kiln_aten_value *out) {
    return named(cx, v, "name", out);
}

static kiln_status optional_tensor(kiln_pt2_cx *cx, const kiln_json *v,
                                   kiln_aten_value *out) {
    const char *tag;
    const kiln_json *const inner = kiln_pt2_union(v, &tag);
    *out = kiln_aten_none();
    return strcmp(tag, "as_tensor") == 0 ? tensor(cx, inner, out) : KILN_OK;
}

static kiln_status one_int(kiln_pt2_cx *cx, const kiln_json *v, kiln_aten_value *out) {
    (void)cx;
    *out = integer(v);
    return KILN_OK;
}

static kiln_status one_float(kiln_pt2_cx *cx, const kiln_json *v,
                             kiln_aten_value *out) {
    (void)cx;
    *out = floating(v);
    return KILN_OK;
}

static kiln_status one_bool(kiln_pt2_cx *cx, const kiln_json *v, kiln_aten_value *out) {
    (void)cx;
    *out = kiln_aten_of_bool(kiln_json_bool(v, false));
    return KILN_OK;
}

static kiln_status one_string(kiln_pt2_cx *cx, const kiln_json *v,
                              kiln_aten_value *out) {
    (void)cx;
    *out = kiln_aten_of_string(kiln_str_from(kiln_json_string(v, "")));
    return KILN_OK;
}

static kiln_status one_dtype(kiln_pt2_cx *cx, const kiln_json *v,
                             kiln_aten_value *out) {
    int64_t number = 0;
    kiln_dtype d;
    if (!kiln_json_i64(v, &number) || !kiln_pt2_dtype(number, &d))
        return kiln_pt2_fail(cx, KILN_ERR_UNSUPPORTED,
                             "kiln has no dtype that is the file's number %lld",
                             (long long)number);
    *out = kiln_aten_of_dtype(d);
    return KILN_OK;
}

static kiln_status none(kiln_pt2_cx *cx, const kiln_json *v, kiln_aten_value *out) {
    (void)cx;
    (void)v;
    *out = kiln_aten_none();
    return KILN_OK;
}

static kiln_status other(kiln_pt2_cx *cx, const kiln_json *v, kiln_aten_value *out) {
    (void)cx;
    (void)v;
    *out = (kiln_aten_value){.kind = KILN_ATEN_OTHER};
    return KILN_OK;
}

/* ---- all --------------------------------------------------------------------------- */

typedef kiln_status reader(kiln_pt2_cx *cx, const kiln_json *v, kiln_aten_value *out);

static const struct {
    const char *tag;
    reader *read;
    bool is_list;
} tags[] = {
    {"as_tensor", tensor, false},
    {"as_tensors", tensor, true},
    {"as_none", none, false},
    {"as_int", one_int, false},
    {"as_ints", one_int, true},
    {"as_float", one_float, false},
    {"as_floats", one_float, true},
    {"as_bool", one_bool, false},
    {"as_bools", one_bool, true},
    {"as_string", one_string, false},
    {"as_strings", one_string, true},
    {"as_scalar_type", one_dtype, false},
    {"as_sym_int", symbolic, false},
    {"as_sym_ints", symbolic, true},
    {"as_sym_float", symbolic, false},
    {"as_sym_floats", symbolic, true},
    {"as_sym_bool", symbolic, false},
    {"as_sym_bools", symbolic, true},
    {"as_optional_tensor", optional_tensor, false},
    {"as_optional_tensors", optional_tensor, true},
    {"as_memory_format", other, false},
    {"as_layout", other, false},
    {"as_device", other, false},
};

static kiln_status read_list(kiln_pt2_cx *cx, const kiln_json *list, reader *read,
                             kiln_aten_value *out) {
    const size_t n = kiln_json_size(list);
    size_t i = 0;
    if (!kiln_json_is_array(list))
        return kiln_pt2_fail(cx, KILN_ERR_PARSE, "an argument must be a list");
    kiln_aten_value *const v = kiln_array(&cx->common.scratch, kiln_aten_value, n);
    for (const kiln_json *j = kiln_json_first(list); j != NULL; j = kiln_json_next(j))
        KILN_TRY(read(cx, j, &v[i++]));
    KILN_ASSERT(i == n, "%zu elements of %zu were read", i, n);
    *out = kiln_aten_of_list(v, n);
    return KILN_OK;
}

kiln_status kiln_pt2_argument(kiln_pt2_cx *cx, const kiln_json *arg,
                              kiln_aten_value *out) {
    const char *tag;
    const kiln_json *const v = kiln_pt2_union(arg, &tag);
    if (v == NULL)
        return none(cx, v, out);
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (strcmp(tag, tags[i].tag) == 0)
            return tags[i].is_list ? read_list(cx, v, tags[i].read, out)
                                   : tags[i].read(cx, v, out);
    return kiln_pt2_fail(cx, KILN_ERR_UNSUPPORTED,
                         "arguments of kind '%s' are not read",
                         kiln_import_show(&cx->common, kiln_str_from(tag)));
}
