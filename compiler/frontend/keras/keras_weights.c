/* A layer's weights. In .h5 files by name: the group of the model's own layer lists
 * them, also those of layers in a nested model. In .keras files by place: number i of
 * the class's own order. */
#include "compiler/frontend/keras/keras_internal.h"

#include <string.h>

/* ---- by name --------------------------------------------------------------------- */

/* Keras cuts long lists of names: weight_names, or weight_names0, weight_names1, ... */
static kiln_status list_names(kiln_keras_call *k, const char *const **out, size_t *n) {
    enum { MAX_CHUNKS = 1000 };
    kiln_arena *const a = &k->cx->common.scratch;
    const char *const group = k->layer->place.group;
    KILN_VEC(const char *) all = {0};
    KILN_TRY(kiln_hdf5_texts(k->cx->weights, a, group, "weight_names", out, n,
                             k->cx->common.err));
    for (int i = 0; *n == 0 && i < MAX_CHUNKS; i++) {
        const char *const *part = NULL;
        size_t n_part = 0;
        KILN_TRY(kiln_hdf5_texts(k->cx->weights, a, group,
                                 kiln_format(a, "weight_names%d", i), &part, &n_part,
                                 k->cx->common.err));
        for (size_t p = 0; p < n_part; p++)
            kiln_vec_push(a, &all, part[p]);
        if (n_part == 0)
            break;
    }
    if (*n == 0) {
        *out = all.v;
        *n = all.n;
    }
    return KILN_OK;
}

/* Is a part of the path `want`, or begin with it? */
static bool has_part(kiln_str path, const char *want, bool begins) {
    kiln_str part;
    while (kiln_str_cut(&path, '/', &part))
        if (begins ? kiln_str_starts(part, want) : kiln_str_is(part, want))
            return true;
    return false;
}

/* "variable_12" is "variable". */
static kiln_str without_number(kiln_str name) {
    size_t n = name.n;
    while (n > 0 && name.p[n - 1] >= '0' && name.p[n - 1] <= '9')
        n--;
    return n > 0 && n < name.n && name.p[n - 1] == '_' ? (kiln_str){name.p, n - 1}
                                                       : name;
}

static bool has_end(kiln_str name, kiln_str end, bool is_old) {
    if (name.n < end.n || memcmp(name.p + name.n - end.n, end.p, end.n) != 0)
        return false;
    const char before = name.n > end.n ? name.p[name.n - end.n - 1] : '/';
    return before == '/' || (is_old && before == '_');
}

/* A role is the end of a path, of one part or of several ("query/kernel"); Keras 1 puts
 * the layer's name in front of it. '*' behind it: weights without a name are numbered. */
static bool has_role(kiln_str name, const char *role, bool is_old) {
    kiln_str roles = kiln_str_from(role), one;
    if (kiln_str_ends(name, ":0"))
        name.n -= 2;
    while (kiln_str_cut(&roles, '|', &one)) {
        const bool may_be_numbered = kiln_str_ends(one, "*");
        one.n -= may_be_numbered;
        if (has_end(may_be_numbered ? without_number(name) : name, one, is_old))
            return true;
    }
    return false;
}

static const char *find_by_name(kiln_keras_call *k, const char *const *list, size_t n,
                                const char *part, const char *role) {
    const kiln_keras_place *const p = &k->layer->place;
    for (size_t i = 0; i < n; i++) {
        const kiln_str name = kiln_str_from(list[i]);
        if ((p->owner == NULL || has_part(name, p->owner, false)) &&
            (part == NULL || has_part(name, part, true)) &&
            has_role(name, role, k->cx->file.major == 1))
            return kiln_format(&k->cx->common.scratch, "%s/%s", p->group, list[i]);
    }
    return NULL;
}

/* ---- both ------------------------------------------------------------------------ */

static kiln_status read_one(kiln_keras_call *k, const char *path, const char *role,
                            kiln_value **out) {
    kiln_import_cx *const cx = &k->cx->common;
    kiln_tensor t;
    KILN_TRY(kiln_hdf5_numbers(k->cx->weights, cx, path, &t));
    KILN_ASSERT(t.data != NULL || kiln_type_elems(&t.type) == 0, "'%s' has no data",
                path);
    const kiln_str first = {role, strcspn(role, "|")};
    *out = kiln_graph_add_const(
        cx->graph,
        kiln_format(cx->arena, "%s.%.*s",
                    kiln_import_show(cx, kiln_str_from(k->layer->name)),
                    KILN_STR_ARG(first)),
        &t.type, t.data);
    return KILN_OK;
}

static kiln_status refuse_missing(kiln_keras_call *k, const char *role) {
    return kiln_fail(
        k->cx->common.err, KILN_ERR_PARSE,
        "the file has no weight '%.*s' for it; was the model saved without "
        "its weights?",
        (int)strcspn(role, "|"), role);
}

kiln_status kiln_keras_part_weights(kiln_keras_call *k, const char *part,
                                    const char *path, const char *const *roles, int n,
                                    kiln_value **out) {
    const char *const *list = NULL;
    size_t n_list = 0;
    kiln_arena *const a = &k->cx->common.scratch;
    KILN_ASSERT(n > 0 && roles[0] != NULL, "%d weights", n);
    if (k->cx->weights == NULL)
        return refuse_missing(k, roles[0]);
    if (!k->cx->file.is_archive)
        KILN_TRY(list_names(k, &list, &n_list));
    for (int i = 0; i < n; i++) {
        const char *const at =
            k->cx->file.is_archive
                ? kiln_format(a, "/%s%s/vars/%d", k->layer->place.path, path, i)
                : find_by_name(k, list, n_list, part, roles[i]);
        if (at == NULL || !kiln_hdf5_has(k->cx->weights, at))
            return refuse_missing(k, roles[i]);
        KILN_TRY(read_one(k, at, roles[i], &out[i]));
    }
    return KILN_OK;
}

kiln_status kiln_keras_weights(kiln_keras_call *k, const char *const *roles, int n,
                               kiln_value **out) {
    return kiln_keras_part_weights(k, k->layer->place.part, "", roles, n, out);
}

kiln_status kiln_keras_check_shape(kiln_keras_call *k, const kiln_value *v,
                                   const char *what, int rank, const int64_t *dim) {
    kiln_arena *const a = &k->cx->common.scratch;
    KILN_ASSERT(rank >= 0 && rank <= KILN_MAX_RANK, "'%s' of %d axes", what, rank);
    if (v->type.rank == rank &&
        (rank == 0 || memcmp(v->type.dim, dim, (size_t)rank * sizeof *dim) == 0))
        return KILN_OK;
    return kiln_fail(
        k->cx->common.err, KILN_ERR_SHAPE, "'%s' must have shape %s, has %s", what,
        kiln_shape_text(a, rank, dim), kiln_shape_text(a, v->type.rank, v->type.dim));
}
