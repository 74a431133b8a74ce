/* Sizes for dynamic dimensions with which a model imports, found by trying.
 *
 * Each symbol is a variable with a role that its name and its place suggest; each role
 * has usual sizes, and the model's constants add theirs. From the usual ones a climb
 * changes one variable, or all of one role together, to where the import gets farther.
 * What is suggested has been imported; nothing is where none was found. */
#include "compiler/frontend/frontend_inputs.h"

#include <string.h>

enum {
    MAX_TRIES = 400,
    MAX_ROUNDS = 6,
    MAX_CANDIDATES = 128,
    MAX_VARIABLES = 64,
};
#define MAX_TIME_NS ((int64_t)10 * 1000 * 1000 * 1000)

typedef enum role { BATCH, CHANNEL, SPATIAL, SEQUENCE, WHOLE, N_ROLES } role;

/* Usual first. WHOLE: of an input without any shape, an index into `wholes`. */
static const int64_t usual[N_ROLES][40] = {
    [BATCH] = {1, 2, 4},
    [CHANNEL] = {3, 1, 4, 2, 16, 32, 64},
    [SPATIAL] = {224, 256, 320, 128, 64,  32, 512, 640, 96,  160, 192, 384,
                 48,  416, 299, 300, 112, 28, 480, 608, 800, 80,  100, 112},
    [SEQUENCE] = {16,   128, 64,  32,  256, 512,  8,    4,    10,   20,
                  50,   80,  100, 200, 300, 384,  400,  768,  1000, 1024,
                  1536, 480, 960, 160, 320, 4000, 8000, 16000},
    [WHOLE] = {1, 2, 3, 4, 5},
};

static const kiln_shape_binding wholes[] = {{.rank = 0}, /* 0 ends lists above */
                                            {.rank = 1, .dim = {1}},
                                            {.rank = 2, .dim = {1, 16}},
                                            {.rank = 4, .dim = {1, 3, 224, 224}},
                                            {.rank = 3, .dim = {1, 16, 64}},
                                            {.rank = 0}};

typedef struct variable {
    const char *symbol; /* NULL: of one axis alone */
    role role;
    bool is_fixed; /* by the caller */
    int64_t value;
} variable;

typedef struct search {
    kiln_arena *arena;  /* of the result */
    kiln_arena scratch; /* of the search */
    const char *path;
    const kiln_import_options *o;
    kiln_model_survey model;
    KILN_VEC(variable) var;
    int *axis_var; /* by input and axis: index of the variable; -1: none */
    kiln_import_options with_settings; /* the caller's, and these */
    kiln_suggested_setting *setting;
    size_t n_settings;
    int n_tried;
    int64_t begin_ns, best;
    char *reason; /* of the best failure */
} search;

/* ---- variables ------------------------------------------------------------------- */

static role role_of(const kiln_declared_input *d, int axis) {
    static const char *const batch[] = {"batch", NULL};
    static const char *const channel[] = {"channel", "c", NULL};
    static const char *const spatial[] = {"height", "width", "h", "w", NULL};
    static const char *const sequence[] = {"seq",   "len", "time", "token",
                                           "frame", "t",   "s",    NULL};
    const char *const symbol = d->symbol[axis];
    const bool is_nhwc = d->rank == 4 && d->dim[3] >= 1 && d->dim[3] <= 4;
    if (kiln_import_has_word(symbol, batch))
        return BATCH;
    if (kiln_import_has_word(symbol, channel))
        return CHANNEL;
    if (kiln_import_has_word(symbol, spatial))
        return SPATIAL;
    if (kiln_import_has_word(symbol, sequence))
        return SEQUENCE;
    if (axis == 0 && d->rank > 1)
        return BATCH;
    if (d->rank == 4 || d->rank == 5)
        return axis == 1 && !is_nhwc ? CHANNEL : SPATIAL;
    return SEQUENCE;
}

static int add_variable(search *s, const char *symbol, role r) {
    for (size_t i = 0; symbol != NULL && i < s->var.n; i++)
        if (s->var.v[i].symbol != NULL && strcmp(s->var.v[i].symbol, symbol) == 0)
            return (int)i;
    const variable v = {.symbol = symbol, .role = r, .value = usual[r][0]};
    kiln_vec_push(&s->scratch, &s->var, v);
    return (int)s->var.n - 1;
}

static const kiln_shape_binding *given_shape(const search *s, const char *name) {
    for (size_t i = 0; i < s->o->n_shapes; i++)
        if (strcmp(s->o->shapes[i].name, name) == 0)
            return &s->o->shapes[i];
    return NULL;
}

static bool has_value(const search *s, const char *name) {
    for (size_t i = 0; i < s->o->n_values; i++)
        if (strcmp(s->o->values[i].name, name) == 0)
            return true;
    return false;
}

static kiln_tensor number(kiln_arena *a, kiln_dtype dtype, int64_t value) {
    const kiln_type t = kiln_type_make(dtype, 0, NULL);
    const kiln_tensor out = kiln_tensor_new(a, &t);
    kiln_wide w = kiln_wide_new(a, &t);
    if (w.f != NULL)
        w.f[0] = (double)value;
    else
        w.i[0] = value;
    kiln_narrow(&w, out.data);
    return out;
}

/* What training sets is fixed, as if the caller did so: none of it is a size. */
static void fix_settings(search *s) {
    kiln_import_options *const o = &s->with_settings;
    const size_t n = s->model.n_inputs;
    kiln_value_binding *const all =
        kiln_array(&s->scratch, kiln_value_binding, s->o->n_values + n);
    s->setting = kiln_array(s->arena, kiln_suggested_setting, n);
    *o = *s->o;
    for (size_t i = 0; i < o->n_values; i++)
        all[i] = o->values[i];
    for (size_t i = 0; i < n; i++) {
        const kiln_declared_input *const d = &s->model.input[i];
        int64_t value;
        if (!kiln_import_is_setting(d, &value) || given_shape(s, d->name) != NULL ||
            has_value(s, d->name))
            continue;
        all[o->n_values++] =
            (kiln_value_binding){d->name, number(&s->scratch, d->dtype, value)};
        s->setting[s->n_settings++] = (kiln_suggested_setting){d->name, value};
    }
    o->values = all;
    s->o = o;
}

static bool is_dynamic(const kiln_declared_input *d) {
    bool is = d->rank < 0;
    for (int k = 0; k < d->rank; k++)
        is = is || d->dim[k] < 0;
    return is;
}

static int *axis_of(const search *s, size_t input, int axis) {
    return &s->axis_var[input * KILN_MAX_RANK + (size_t)axis];
}

/* What the caller gives is a variable too, that nobody moves: its symbol may come
 * again. */
static void find_variables(search *s) {
    const size_t n = s->model.n_inputs;
    s->axis_var = kiln_array(&s->scratch, int, n *KILN_MAX_RANK);
    for (size_t i = 0; i < n; i++) {
        const kiln_declared_input *const d = &s->model.input[i];
        const kiln_shape_binding *const given = given_shape(s, d->name);
        for (int k = 0; k < KILN_MAX_RANK; k++)
            *axis_of(s, i, k) = -1;
        if (d->rank < 0 && given == NULL && !has_value(s, d->name))
            *axis_of(s, i, 0) = add_variable(s, NULL, WHOLE);
        for (int k = 0; k < d->rank; k++) {
            if (d->dim[k] >= 0)
                continue;
            const int at = add_variable(s, d->symbol[k], role_of(d, k));
            *axis_of(s, i, k) = at;
            if (given == NULL || k >= given->rank)
                continue;
            s->var.v[at].is_fixed = true;
            s->var.v[at].value = given->dim[k];
        }
    }
}

/* ---- trying ---------------------------------------------------------------------- */

static void shape_of(const search *s, size_t input, kiln_shape_binding *out) {
    const kiln_declared_input *const d = &s->model.input[input];
    *out = (kiln_shape_binding){.name = d->name, .rank = d->rank};
    if (d->rank < 0) {
        *out = wholes[s->var.v[*axis_of(s, input, 0)].value];
        out->name = d->name;
    }
    for (int k = 0; k < d->rank; k++)
        out->dim[k] =
            d->dim[k] >= 0 ? d->dim[k] : s->var.v[*axis_of(s, input, k)].value;
}

/* Shapes of the dynamic inputs that the caller says nothing of. */
static size_t all_shapes(const search *s, kiln_shape_binding *out) {
    size_t n = 0;
    for (size_t i = 0; i < s->model.n_inputs; i++) {
        const kiln_declared_input *const d = &s->model.input[i];
        if (is_dynamic(d) && given_shape(s, d->name) == NULL && !has_value(s, d->name))
            shape_of(s, i, &out[n++]);
    }
    return n;
}

/* Nodes that were imported; INT64_MAX: all. */
static int64_t try_now(search *s) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_import_report report;
    kiln_import_options with = *s->o;
    kiln_shape_binding *const shape =
        kiln_array(&a, kiln_shape_binding, s->o->n_shapes + s->model.n_inputs);
    for (size_t i = 0; i < s->o->n_shapes; i++)
        shape[i] = s->o->shapes[i];
    with.n_shapes += all_shapes(s, shape + s->o->n_shapes);
    with.shapes = shape;
    const kiln_status st = kiln_import(&a, s->path, &with, &g, &report, &err);
    const int64_t got = st == KILN_OK ? INT64_MAX : report.n_imported;
    s->n_tried++;
    if (got > s->best) {
        s->best = got;
        s->reason = kiln_str_dup(&s->scratch, err.text);
    }
    kiln_arena_fini(&a);
    return got;
}

static bool is_over(const search *s) {
    return s->best == INT64_MAX || s->n_tried >= MAX_TRIES ||
           kiln_now_ns() - s->begin_ns > MAX_TIME_NS;
}

static size_t candidates(const search *s, role r, int64_t out[MAX_CANDIDATES]) {
    size_t n = 0;
    for (size_t i = 0; usual[r][i] != 0; i++)
        out[n++] = usual[r][i];
    if (r == WHOLE)
        return n;
    for (int k = 1; r == SPATIAL && s->model.stride > 1 && k <= 8; k *= 2)
        out[n++] = k * s->model.stride;
    for (size_t i = 0; i < s->model.size.n && n + 1 < MAX_CANDIDATES; i++)
        out[n++] = s->model.size.v[i];
    out[n++] = 1; /* fits where it is stretched to anything: seldom what is meant */
    return n;
}

/* One variable, or (one < 0) all of a role. */
static void set(search *s, role r, int one, const int64_t *from, int64_t value) {
    for (size_t i = 0; i < s->var.n; i++) {
        variable *const v = &s->var.v[i];
        if (!v->is_fixed && (one < 0 ? v->role == r : (size_t)one == i))
            v->value = from != NULL ? from[i] : value;
    }
}

/* Did a move get farther? It stays then. */
static bool move(search *s, role r, int one) {
    int64_t list[MAX_CANDIDATES], before[MAX_VARIABLES], best = 0;
    const int64_t was = s->best;
    const size_t n = candidates(s, r, list);
    for (size_t i = 0; i < s->var.n; i++)
        before[i] = s->var.v[i].value;
    for (size_t i = 0; i < n && !is_over(s); i++) {
        const int64_t known = s->best;
        set(s, r, one, NULL, list[i]);
        if (try_now(s) > known)
            best = list[i];
    }
    if (s->best > was)
        set(s, r, one, NULL, best);
    else
        set(s, r, one, before, 0);
    return s->best > was;
}

static bool climb(search *s) {
    bool moved = false;
    for (int r = SPATIAL; r <= SEQUENCE && !is_over(s); r++) {
        size_t n = 0;
        for (size_t i = 0; i < s->var.n; i++)
            n += s->var.v[i].role == (role)r && !s->var.v[i].is_fixed;
        moved = (n > 1 && move(s, (role)r, -1)) || moved;
    }
    for (size_t i = 0; i < s->var.n && !is_over(s); i++)
        if (!s->var.v[i].is_fixed)
            moved = move(s, s->var.v[i].role, (int)i) || moved;
    return moved;
}

static void answer(search *s, kiln_suggestion *out) {
    kiln_shape_binding *const shape =
        kiln_array(s->arena, kiln_shape_binding, s->model.n_inputs);
    *out = (kiln_suggestion){.shape = shape, .n_tried = s->n_tried, .reason = ""};
    out->is_found = s->best == INT64_MAX;
    if (out->is_found) {
        out->n = all_shapes(s, shape);
        out->setting = s->setting;
        out->n_settings = s->n_settings;
    } else {
        out->reason = kiln_str_dup(s->arena, s->reason != NULL ? s->reason : "");
    }
}

kiln_status kiln_import_suggest(kiln_arena *a, const char *path,
                                const kiln_import_options *o, kiln_suggestion *out,
                                kiln_err *err) {
    const kiln_import_options none = {0};
    search s = {.arena = a,
                .path = path,
                .o = o == NULL ? &none : o,
                .begin_ns = kiln_now_ns(),
                .best = -1};
    const kiln_status st = kiln_import_survey(a, path, &s.model, err);
    if (st == KILN_OK) {
        fix_settings(&s);
        find_variables(&s);
        if (s.var.n <= MAX_VARIABLES)
            try_now(&s);
        for (int i = 0; i < MAX_ROUNDS && s.var.n <= MAX_VARIABLES && !is_over(&s); i++)
            if (!climb(&s))
                break;
        answer(&s, out);
    }
    kiln_arena_fini(&s.scratch);
    return st;
}
