/* What exported programs write into. A value may share its elements with another one of
 * which it is a view. A Graph's values never change: who writes into a view makes a new
 * base around it, and so on to the root; other views of the root are made again when
 * somebody asks for them. */
#include <string.h>

#include "compiler/frontend/pytorch/pt2/pt2_internal.h"

enum { MAX_VIEWS = 200, MAX_KEYWORDS = 8 }; /* views of views; arguments of one */

static kiln_pt2_view *find(kiln_pt2_cx *cx, const char *name) {
    return kiln_map_get(&cx->view, kiln_str_from(name));
}

/* A root is what no view leads further from; it has a record for its version alone. */
static kiln_pt2_view *root_of(kiln_pt2_cx *cx, const char *name) {
    kiln_pt2_view *v = find(cx, name);
    for (int i = 0; v != NULL && v->base != NULL; i++) {
        KILN_ASSERT(i < MAX_VIEWS, "views of '%s' go round", name);
        v = find(cx, v->base);
    }
    return v;
}

static int depth_of(kiln_pt2_cx *cx, const char *name) {
    int n = 0;
    for (const kiln_pt2_view *v = find(cx, name); v != NULL && v->base != NULL; n++)
        v = find(cx, v->base);
    return n;
}

static kiln_status add(kiln_pt2_cx *cx, const char *name, const char *base,
                       const kiln_aten_call *call, int at) {
    KILN_ASSERT(base != NULL && call->n_keyword > 0, "'%s' is a view of nothing", name);
    kiln_arena *const a = &cx->common.scratch;
    if (find(cx, base) == NULL)
        kiln_map_set(a, &cx->view, kiln_str_from(base), kiln_new(a, kiln_pt2_view));
    if (strcmp(name, base) == 0)
        return KILN_OK;
    if (depth_of(cx, base) >= MAX_VIEWS - 1)
        return kiln_pt2_fail(cx, KILN_ERR_LIMIT, "%d views of views are possible",
                             MAX_VIEWS);
    kiln_pt2_view *const v = kiln_new(a, kiln_pt2_view);
    *v = (kiln_pt2_view){.base = base, .call = *call, .at = at};
    v->call.keyword =
        kiln_arena_dup(a, call->keyword, call->n_keyword * sizeof *call->keyword);
    v->version = root_of(cx, base)->written;
    kiln_map_set(a, &cx->view, kiln_str_from(name), v);
    return KILN_OK;
}

kiln_status kiln_pt2_add_views(kiln_pt2_cx *cx, const kiln_aten_call *call,
                               const char *base, const kiln_json *node) {
    const char *tag;
    const kiln_json *const output = kiln_json_first(kiln_json_get(node, "outputs"));
    const kiln_json *const v = kiln_pt2_union(output, &tag);
    int at = 0;
    if (!kiln_json_is_array(v)) {
        const char *const name = kiln_json_string(kiln_json_get(v, "name"), NULL);
        return name != NULL ? add(cx, name, base, call, -1) : KILN_OK;
    }
    for (const kiln_json *j = kiln_json_first(v); j != NULL; j = kiln_json_next(j)) {
        const char *const name = kiln_json_string(kiln_json_get(j, "name"), NULL);
        if (name != NULL)
            KILN_TRY(add(cx, name, base, call, at));
        at++;
    }
    return KILN_OK;
}

/* ---- making a view again ---------------------------------------------------------- */

static kiln_status run(kiln_pt2_cx *cx, const kiln_aten_call *like, const char *op,
                       const kiln_aten_keyword *keyword, size_t n,
                       kiln_aten_value *out) {
    kiln_aten_value made[KILN_ATEN_MAX_OUT];
    size_t n_made = 0;
    const kiln_aten_call call = {.op = kiln_str_from(op),
                                 .site = like->site,
                                 .keyword = keyword,
                                 .n_keyword = n};
    KILN_TRY(kiln_aten_run(&cx->common, &call, made, &n_made));
    KILN_ASSERT(n_made > 0, "'%s' gives nothing", op);
    *out = made[0];
    return KILN_OK;
}

static kiln_status remake(kiln_pt2_cx *cx, const char *name, kiln_pt2_view *v,
                          int64_t version) {
    kiln_aten_value base, made;
    kiln_arena *const a = &cx->common.scratch;
    KILN_TRY(kiln_pt2_get(cx, v->base, &base));
    kiln_aten_keyword *const keyword =
        kiln_arena_dup(a, v->call.keyword, v->call.n_keyword * sizeof *v->call.keyword);
    keyword[0].value = base;
    const char *const op = kiln_str_dupv(a, v->call.op);
    KILN_TRY(run(cx, &v->call, op, keyword, v->call.n_keyword, &made));
    if (v->at >= 0) {
        if (made.kind != KILN_ATEN_LIST || (size_t)v->at >= made.n)
            return kiln_pt2_fail(cx, KILN_ERR_PARSE,
                                 "'%s' is an element of what is no list",
                                 kiln_import_show(&cx->common, kiln_str_from(name)));
        made = made.list[v->at];
    }
    kiln_pt2_set(cx, name, made);
    v->version = version;
    return KILN_OK;
}

kiln_status kiln_pt2_refresh(kiln_pt2_cx *cx, const char *name) {
    kiln_pt2_view *const v = find(cx, name);
    if (v == NULL || v->base == NULL)
        return KILN_OK;
    KILN_ASSERT(root_of(cx, v->base) != NULL, "'%s' has no record of a root", name);
    const int64_t version = root_of(cx, name)->written;
    return v->version == version ? KILN_OK : remake(cx, name, v, version);
}

/* ---- writing through a view ------------------------------------------------------- */

/* Is the view's operator one of these, whatever its overload? */
static bool is_one_of(const kiln_aten_call *call, const char *const *names) {
    for (; *names != NULL; names++) {
        const kiln_str op = call->op;
        const size_t n = strlen(*names);
        for (size_t i = 0; i + n <= op.n; i++)
            if (memcmp(op.p + i, *names, n) == 0 && (i == 0 || op.p[i - 1] == '.') &&
                (i + n == op.n || op.p[i + n] == '.'))
                return true;
    }
    return false;
}

static kiln_status refuse(kiln_pt2_cx *cx, const kiln_aten_call *call) {
    return kiln_pt2_fail(cx, KILN_ERR_UNSUPPORTED,
                         "what is written by way of %s is not read; export the model "
                         "again after ep = ep.run_decompositions({})",
                         kiln_import_show(&cx->common, call->op));
}

/* The shape of the base for what has all its elements. */
static kiln_status reshaped(kiln_pt2_cx *cx, const kiln_pt2_view *v,
                            const kiln_aten_value *base, const kiln_aten_value *part,
                            kiln_aten_value *out) {
    const kiln_type *const t = &base->tensor->type;
    kiln_aten_value dim[KILN_MAX_RANK];
    for (int i = 0; i < t->rank; i++)
        dim[i] = kiln_aten_of_int(t->dim[i]);
    const kiln_aten_keyword keyword[] = {
        {KILN_STR_LIT("self"), *part},
        {KILN_STR_LIT("size"), kiln_aten_of_list(dim, (size_t)t->rank)}};
    return run(cx, &v->call, "view", keyword, 2, out);
}

/* Axes back where they came from. */
static kiln_status unpermuted(kiln_pt2_cx *cx, const kiln_pt2_view *v,
                              const kiln_aten_value *part, kiln_aten_value *out) {
    const int rank = part->tensor->type.rank;
    kiln_aten_value dim[KILN_MAX_RANK];
    const kiln_aten_value *const dims =
        v->call.n_keyword == 2 ? &v->call.keyword[1].value : NULL;
    if (dims == NULL || dims->kind != KILN_ATEN_LIST || dims->n != (size_t)rank)
        return refuse(cx, &v->call);
    for (int i = 0; i < rank; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(dims->list[i].i, rank, &axis, cx->common.err));
        dim[axis] = kiln_aten_of_int(i);
    }
    const kiln_aten_keyword keyword[] = {
        {KILN_STR_LIT("self"), *part},
        {KILN_STR_LIT("dims"), kiln_aten_of_list(dim, (size_t)rank)}};
    return run(cx, &v->call, "permute", keyword, 2, out);
}

/* The base with `part` where the view takes it from. */
static kiln_status put_back(kiln_pt2_cx *cx, const kiln_pt2_view *v,
                            const kiln_aten_value *base, const kiln_aten_value *part,
                            kiln_aten_value *out) {
    static const char *const all[] = {"alias", "detach", "lift_fresh", NULL};
    static const char *const shapes[] = {"view",      "reshape", "_unsafe_view",
                                         "unsqueeze", "squeeze", "flatten",
                                         "unflatten", "view_as", NULL};
    static const char *const turns[] = {"transpose", "swapaxes", "t", NULL};
    static const char *const permutes[] = {"permute", NULL};
    static const char *const slices[] = {"slice", NULL}, *const selects[] = {"select",
                                                                             NULL};
    kiln_aten_keyword keyword[MAX_KEYWORDS + 1];
    const kiln_aten_call *const call = &v->call;
    const size_t n = call->n_keyword;
    if (v->at >= 0 || n < 1 || n > MAX_KEYWORDS || base->kind != KILN_ATEN_TENSOR)
        return refuse(cx, call);
    if (is_one_of(call, all)) {
        *out = *part;
        return KILN_OK;
    }
    if (is_one_of(call, shapes))
        return reshaped(cx, v, base, part, out);
    if (is_one_of(call, permutes))
        return unpermuted(cx, v, part, out);
    memcpy(keyword, call->keyword, n * sizeof *keyword);
    if (is_one_of(call, turns)) {
        keyword[0].value = *part;
        return run(cx, call, kiln_str_dupv(&cx->common.scratch, call->op), keyword, n,
                   out);
    }
    const bool is_slice = is_one_of(call, slices);
    if (!is_slice && !is_one_of(call, selects))
        return refuse(cx, call);
    keyword[0].value = *base;
    keyword[n] = (kiln_aten_keyword){KILN_STR_LIT("src"), *part};
    return run(cx, call, is_slice ? "slice_scatter" : "select_scatter", keyword, n + 1,
               out);
}

static kiln_status write_up(kiln_pt2_cx *cx, const char *name,
                            const kiln_aten_value *v) {
    kiln_pt2_view *const view = find(cx, name);
    kiln_aten_value base, whole;
    if (view == NULL || view->base == NULL) {
        if (kiln_map_has(&cx->kept, kiln_str_from(name)))
            return kiln_pt2_fail(cx, KILN_ERR_UNSUPPORTED,
                                 "buffer '%s' is written for the next call; models "
                                 "that keep a state are not read",
                                 kiln_import_show(&cx->common, kiln_str_from(name)));
        if (view != NULL)
            view->written++;
        kiln_pt2_set(cx, name, *v);
        return KILN_OK;
    }
    KILN_TRY(kiln_pt2_get(cx, view->base, &base));
    KILN_TRY(put_back(cx, view, &base, v, &whole));
    KILN_TRY(write_up(cx, view->base, &whole));
    kiln_pt2_set(cx, name, *v);
    view->version = root_of(cx, name)->written;
    return KILN_OK;
}

kiln_status kiln_pt2_write(kiln_pt2_cx *cx, const char *name, const char *alias,
                           const kiln_aten_value *v) {
    kiln_aten_value old, cast = *v;
    KILN_TRY(kiln_pt2_get(cx, name, &old));
    if (old.kind != KILN_ATEN_TENSOR || v->kind != KILN_ATEN_TENSOR)
        return kiln_pt2_fail(cx, KILN_ERR_PARSE, "'%s' is no tensor to write into",
                             kiln_import_show(&cx->common, kiln_str_from(name)));
    if (!kiln_type_same_shape(&old.tensor->type, &v->tensor->type))
        return kiln_pt2_fail(cx, KILN_ERR_SHAPE,
                             "what is written into '%s' has another shape",
                             kiln_import_show(&cx->common, kiln_str_from(name)));
    KILN_TRY(kiln_import_cast(&cx->common, NULL, v->tensor, old.tensor->type.dtype,
                              &cast.tensor));
    KILN_TRY(write_up(cx, name, &cast));
    const kiln_aten_keyword keyword = {KILN_STR_LIT("self"), cast};
    const kiln_aten_call same = {
        .op = KILN_STR_LIT("alias"), .keyword = &keyword, .n_keyword = 1};
    if (alias[0] == '\0')
        return KILN_OK;
    kiln_pt2_set(cx, alias, cast);
    return add(cx, alias, name, &same, -1);
}
