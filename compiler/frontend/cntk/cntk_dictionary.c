/* A model out of its dictionary: variables, functions, and what leads to what. Source:
 * CompositeFunction.cpp, PrimitiveFunction.cpp and Variable.cpp of CNTK 2.7.
 *
 * Output i of a function has its uid and "_Output_i". A block is a function that gives
 * what another one inside of it gives; the placeholders that those inside read stand for
 * the block's inputs. A combination gives its inputs. */
#include "compiler/frontend/cntk/cntk_internal.h"

#include <inttypes.h>

enum { MAX_SHOWN = 80, MAX_FUNCTIONS = 1 << 20 };

static const char *show(kiln_arena *a, kiln_str s) {
    return kiln_str_printable(a, s, MAX_SHOWN);
}

/* ---- reading --------------------------------------------------------------------- */

static kiln_status need_vector(const kiln_cntk_dict *d, const char *key,
                               const kiln_cntk_vector **out, kiln_err *err) {
    const kiln_cntk_item *const v = kiln_cntk_get_kind(d, key, KILN_CNTK_VECTOR);
    if (v == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "its dictionary has no list '%s'", key);
    *out = v->vector;
    return KILN_OK;
}

static kiln_status need_texts(kiln_arena *a, const kiln_cntk_dict *d, const char *key,
                              kiln_str **out, size_t *n, kiln_err *err) {
    const kiln_cntk_vector *v;
    KILN_TRY(need_vector(d, key, &v, err));
    *out = kiln_array(a, kiln_str, v->n_item);
    *n = v->n_item;
    for (size_t i = 0; i < v->n_item; i++) {
        if (v->item[i].kind != KILN_CNTK_STRING)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "element %zu of its list '%s' is no text", i, key);
        (*out)[i] = v->item[i].text;
    }
    return KILN_OK;
}

static uint64_t size_of(const kiln_cntk_dict *d, const char *key, uint64_t otherwise) {
    const kiln_cntk_item *const v = kiln_cntk_get_kind(d, key, KILN_CNTK_SIZE);
    return v != NULL ? v->size : otherwise;
}

static kiln_str name_of(const kiln_cntk_dict *d, kiln_str uid) {
    const kiln_str name = kiln_cntk_get_text(d, "name");
    return name.n > 0 ? name : uid;
}

static kiln_status read_variable(const kiln_cntk_dict *d, kiln_cntk_variable *v,
                                 kiln_err *err) {
    const kiln_cntk_item *const axes =
        kiln_cntk_get_kind(d, "dynamic_axis", KILN_CNTK_VECTOR);
    const kiln_cntk_item *const shape = kiln_cntk_get_kind(d, "shape", KILN_CNTK_SHAPE);
    const kiln_cntk_item *const array = kiln_cntk_get_kind(d, "value", KILN_CNTK_ARRAY);
    const kiln_str uid = kiln_cntk_get_text(d, "uid");
    *v = (kiln_cntk_variable){
        .uid = uid,
        .name = name_of(d, uid),
        .role = (int64_t)size_of(d, "kind", INT64_MAX),
        .dtype = (int64_t)size_of(d, "data_type", 0),
        .has_batch = axes != NULL && axes->vector->n_item > 0,
        .shape = shape != NULL ? shape->shape : NULL,
        .array = array != NULL ? array->array : NULL,
    };
    if (uid.n == 0 || v->role < 0 || v->role > KILN_CNTK_PLACEHOLDER ||
        v->role == KILN_CNTK_OUTPUT)
        return kiln_fail(err, KILN_ERR_PARSE, "it must have a uid and a kind");
    if (v->shape == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "it has no shape");
    if ((v->role == KILN_CNTK_PARAMETER || v->role == KILN_CNTK_CONSTANT) &&
        (v->array == NULL || v->array->shape == NULL))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "it has no value; a parameter that was never computed with "
                         "has none: run the model once before it is saved");
    return KILN_OK;
}

static kiln_status read_block(kiln_arena *a, const kiln_cntk_dict *d,
                              kiln_cntk_model *m, kiln_cntk_function *f,
                              kiln_err *err) {
    const kiln_cntk_item *const inside =
        kiln_cntk_get_kind(d, "block_function_composite", KILN_CNTK_DICT);
    kiln_str *key, *value;
    size_t n_key, n_value;
    f->block_root = kiln_cntk_get_text(inside != NULL ? inside->dict : NULL, "root");
    if (f->block_root.n == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "it is a block without a root");
    KILN_TRY(need_texts(a, d, "block_function_composite_arguments_map_keys", &key,
                        &n_key, err));
    KILN_TRY(need_texts(a, d, "block_function_composite_arguments_map_values", &value,
                        &n_value, err));
    if (n_key != n_value)
        return kiln_fail(err, KILN_ERR_PARSE, "it maps %zu arguments to %zu values",
                         n_key, n_value);
    for (size_t i = 0; i < n_key; i++)
        kiln_map_set(a, &m->instead, key[i], &value[i]);
    return KILN_OK;
}

static kiln_status read_function(kiln_arena *a, const kiln_cntk_dict *d,
                                 kiln_cntk_model *m, kiln_cntk_function *f,
                                 kiln_err *err) {
    const kiln_cntk_item *const attrs =
        kiln_cntk_get_kind(d, "attributes", KILN_CNTK_DICT);
    const kiln_str uid = kiln_cntk_get_text(d, "uid");
    const kiln_str type = kiln_cntk_get_text(d, "type");
    f->uid = uid;
    f->name = name_of(d, uid);
    f->op = size_of(d, "op", UINT64_MAX);
    f->attrs = attrs != NULL ? attrs->dict : NULL;
    if (uid.n == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "it has no uid");
    if (!kiln_str_is(type, "PrimitiveFunction"))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "it is a '%s'; functions of a program's own are not read: "
                         "replace them by CNTK's",
                         show(a, type));
    KILN_TRY(need_texts(a, d, "inputs", &f->in, &f->n_in, err));
    return f->op == KILN_CNTK_BLOCK ? read_block(a, d, m, f, err) : KILN_OK;
}

static kiln_status read_variables(kiln_arena *a, const kiln_cntk_vector *v,
                                  kiln_cntk_model *m, kiln_err *err) {
    m->n_variable = v->n_item;
    m->variable = kiln_array(a, kiln_cntk_variable, v->n_item);
    for (size_t i = 0; i < v->n_item; i++) {
        kiln_cntk_variable *const to = &m->variable[i];
        const bool is_dict =
            v->item[i].kind == KILN_CNTK_DICT && v->item[i].dict != NULL;
        kiln_status st = is_dict
                             ? read_variable(v->item[i].dict, to, err)
                             : kiln_fail(err, KILN_ERR_PARSE, "it is no dictionary");
        if (st == KILN_OK && !kiln_map_set(a, &m->variables, to->uid, to))
            st = kiln_fail(err, KILN_ERR_PARSE, "its uid is there twice");
        if (st != KILN_OK) {
            kiln_note(err, "reading variable #%zu '%s'", i, show(a, to->uid));
            return st;
        }
    }
    return KILN_OK;
}

static kiln_status read_functions(kiln_arena *a, const kiln_cntk_vector *v,
                                  kiln_cntk_model *m, kiln_err *err) {
    if (v->n_item > MAX_FUNCTIONS)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "it has %zu functions, at most %d are read", v->n_item,
                         MAX_FUNCTIONS);
    m->n_function = v->n_item;
    m->function = kiln_array(a, kiln_cntk_function, v->n_item);
    for (size_t i = 0; i < v->n_item; i++) {
        kiln_cntk_function *const to = &m->function[i];
        const bool is_dict =
            v->item[i].kind == KILN_CNTK_DICT && v->item[i].dict != NULL;
        to->index = i;
        kiln_status st = is_dict
                             ? read_function(a, v->item[i].dict, m, to, err)
                             : kiln_fail(err, KILN_ERR_PARSE, "it is no dictionary");
        if (st == KILN_OK && !kiln_map_set(a, &m->functions, to->uid, to))
            st = kiln_fail(err, KILN_ERR_PARSE, "its uid is there twice");
        if (st != KILN_OK) {
            kiln_note(err, "reading function #%zu '%s'", i, show(a, to->uid));
            return st;
        }
    }
    return KILN_OK;
}

kiln_status kiln_cntk_read_model(kiln_arena *a, kiln_str bytes, kiln_cntk_model *out,
                                 kiln_err *err) {
    kiln_cntk_dict d;
    const kiln_cntk_vector *inputs, *functions;
    *out = (kiln_cntk_model){.n_variable = 0};
    KILN_TRY(kiln_cntk_read_dict(a, bytes, &d, err));
    KILN_TRY(need_vector(&d, "inputs", &inputs, err));
    KILN_TRY(need_vector(&d, "primitive_functions", &functions, err));
    KILN_TRY(read_variables(a, inputs, out, err));
    KILN_TRY(read_functions(a, functions, out, err));
    out->root = kiln_cntk_get_text(&d, "root");
    if (!kiln_map_has(&out->functions, out->root))
        return kiln_fail(err, KILN_ERR_PARSE, "its root '%s' is none of its functions",
                         show(a, out->root));
    return KILN_OK;
}

/* ---- what leads to what ---------------------------------------------------------- */

/* "Plus12_Output_0" to "Plus12" and 0. */
static bool split_output(kiln_str uid, kiln_str *function, size_t *i) {
    static const char word[] = "_Output_";
    enum { N = sizeof word - 1, DIGITS = 4 };
    size_t at = uid.n;
    *i = 0;
    while (at > 0 && uid.p[at - 1] >= '0' && uid.p[at - 1] <= '9')
        at--;
    if (at == uid.n || uid.n - at > DIGITS || at < N + 1)
        return false;
    for (size_t k = at; k < uid.n; k++)
        *i = 10 * *i + (size_t)(uid.p[k] - '0');
    *function = (kiln_str){uid.p, at - N};
    return kiln_str_starts((kiln_str){uid.p + at - N, N}, word);
}

/* One step through a block or a combination; false: f itself is what gives. */
static kiln_status step_inside(const kiln_cntk_model *m, const kiln_cntk_function *f,
                               size_t i, kiln_str *uid, bool *is_inside,
                               kiln_err *err) {
    const kiln_cntk_function *root = f;
    *is_inside = f->op == KILN_CNTK_BLOCK || f->op == KILN_CNTK_COMBINE;
    for (size_t n = 0; root != NULL && root->op == KILN_CNTK_BLOCK; n++) {
        if (n > m->n_function)
            return kiln_fail(err, KILN_ERR_PARSE, "blocks are inside of each other");
        root = kiln_map_get(&m->functions, root->block_root);
    }
    if (!*is_inside)
        return KILN_OK;
    if (root == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "a block's root is no function");
    if (root->op != KILN_CNTK_COMBINE) {
        *is_inside = false; /* the caller goes on with the function itself */
        *uid = root->uid;
        return KILN_OK;
    }
    if (i >= root->n_in)
        return kiln_fail(err, KILN_ERR_PARSE, "output %zu of %zu is read", i,
                         root->n_in);
    *uid = root->in[i];
    return KILN_OK;
}

kiln_status kiln_cntk_resolve(const kiln_cntk_model *m, kiln_str uid,
                              kiln_cntk_source *out, kiln_err *err) {
    *out = (kiln_cntk_source){NULL, NULL};
    for (size_t n = 0; n <= 2 * (m->n_function + m->n_variable); n++) {
        const kiln_str *const instead = kiln_map_get(&m->instead, uid);
        const kiln_cntk_variable *const v = kiln_map_get(&m->variables, uid);
        const kiln_cntk_function *f = NULL;
        kiln_str name;
        size_t i = 0;
        bool is_inside = false;
        if (instead != NULL) {
            uid = *instead;
            continue;
        }
        if (split_output(uid, &name, &i))
            f = kiln_map_get(&m->functions, name);
        if (f == NULL) {
            out->variable = v;
            break;
        }
        kiln_str inside = f->uid;
        KILN_TRY(step_inside(m, f, i, &inside, &is_inside, err));
        if (is_inside) {
            uid = inside;
            continue;
        }
        if (i > 0)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "output %zu of a function is not read", i);
        out->function = kiln_map_get(&m->functions, inside);
        break;
    }
    if (out->variable == NULL && out->function == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "nothing has the uid '%.*s', or it leads back to itself",
                         (int)(uid.n < MAX_SHOWN ? uid.n : MAX_SHOWN), uid.p);
    return KILN_OK;
}

kiln_status kiln_cntk_roots(kiln_arena *a, const kiln_cntk_model *m, kiln_str **out,
                            size_t *n, kiln_err *err) {
    const kiln_cntk_function *f = kiln_map_get(&m->functions, m->root);
    for (size_t k = 0; f != NULL && f->op == KILN_CNTK_BLOCK; k++) {
        if (k > m->n_function)
            return kiln_fail(err, KILN_ERR_PARSE, "blocks are inside of each other");
        f = kiln_map_get(&m->functions, f->block_root);
    }
    if (f == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "the root's block has no root");
    if (f->op == KILN_CNTK_COMBINE) {
        *out = f->in;
        *n = f->n_in;
        return KILN_OK;
    }
    *out = kiln_new(a, kiln_str);
    **out = kiln_str_from(kiln_format(a, "%.*s_Output_0", (int)f->uid.n, f->uid.p));
    *n = 1;
    return KILN_OK;
}
