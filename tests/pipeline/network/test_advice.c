/* Configurations that others know for a network's kernels, where they make no schedule
 * of the layouts that its values have: advice is left for the template's own rule, a
 * file's entry is an error. */
#include "pipeline/network/network.h"
#include "tests/support/kiln_test.h"

#include <string.h>

/* The transpose has rows of 5 elements, which are no vectors; laid out the other way
 * round it has columns of 64, and a tile of theirs has 8 vectors in each row. */
static const char *const transposed =
    "graph \"g\" { input %x : f32[64,7,5] %a = transpose(%x) {perm=[1,0,2]} "
    "%y = softmax(%a) output %y }";
static const char *const config =
    "{\"inline\": \"rule\", \"fuse\": \"rule\", \"vector\": \"best\", \"lanes\": 0, "
    "\"vectors\": 8, \"rows\": 16, \"accumulators\": 0, \"unroll\": 0, "
    "\"order\": \"rows\", \"parallel\": \"off\"}";

static void last_axis_first(void *user, const kiln_type *t, kiln_layout *layout) {
    (void)user;
    layout->n_order = (uint8_t)t->rank;
    for (int i = 0; i < t->rank; i++)
        layout->order[i] = (uint8_t)(t->rank - 1 - i);
}

static const kiln_json *parse(const char *text) {
    kiln_err err = {.status = KILN_OK};
    const kiln_json *json = NULL;
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_str_from(text), "test", &json, &err),
        &err);
    return json;
}

static bool is_transpose(const char *key) {
    return strncmp(key, "transpose", strlen("transpose")) == 0;
}

/* Gives transposes the configuration, as the one that was measured for such rows: it
 * does make a schedule of them. */
static kiln_status advise(void *user, kiln_arena *a, const kiln_op_work *w,
                          const kiln_profile *p, kiln_answers *out, kiln_err *err) {
    const kiln_template *t = &kiln_template_generic;
    kiln_space space;
    kiln_config c;
    kiln_scheduled s;
    if (!is_transpose(w->key.p))
        return KILN_OK;
    kiln_space_init(&space, a);
    const kiln_answer known = {
        .tmpl = t->name, .config = parse(config), .origin = *(const kiln_origin *)user};
    kiln_vec_push(a, out, known);
    KILN_TRY(t->space(&w->workload, p, &space, err));
    KILN_TRY(kiln_config_parse(known.config, t, &space, &c, err));
    return kiln_template_apply(a, t, &w->workload, p, &space, &c, &s, err);
}

static kiln_status compile(const kiln_choose_options *choose, bool is_turned,
                           kiln_network *n, kiln_err *err) {
    kiln_arena *a = kiln_test_arena();
    kiln_profile *p = kiln_new(a, kiln_profile);
    kiln_graph *g = NULL;
    const kiln_network_options o = {.choose = choose,
                                    .relayout = is_turned ? last_axis_first : NULL};
    kiln_assert_status_ok(
        kiln_graph_parse(a, kiln_str_from(transposed), "test", &g, err), err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx2", p, err), err);
    return kiln_network_compile(a, g, p, &o, n, err);
}

static const kiln_network_kernel *transpose_of(const kiln_network *n) {
    for (size_t i = 0; i < n->kernel.n; i++)
        if (is_transpose(n->kernel.v[i].workload))
            return &n->kernel.v[i];
    fail_msg("the network must have a kernel of the transpose");
    return NULL;
}

typedef struct row {
    const char *name;
    kiln_origin origin;
    bool is_turned;
    kiln_origin want;
} row;

static row rows[] = {
    {"advice_that_fits_is_taken", KILN_ORIGIN_TUNED, false, KILN_ORIGIN_TUNED},
    {"tuned_advice_that_fits_no_more_is_left", KILN_ORIGIN_TUNED, true,
     KILN_ORIGIN_GUESS},
    {"transferred_advice_is_left", KILN_ORIGIN_TRANSFERRED, true, KILN_ORIGIN_GUESS},
    {"predicted_advice_is_left", KILN_ORIGIN_PREDICTED, true, KILN_ORIGIN_GUESS},
};

static void check_advice(void **state) {
    row *r = *state;
    kiln_err err = {.status = KILN_OK};
    kiln_network n;
    const kiln_oracle oracle = {advise, &r->origin};
    const kiln_choose_options choose = {.oracle = &oracle};
    kiln_assert_status_ok(compile(&choose, r->is_turned, &n, &err), &err);
    assert_int_equal(err.len, 0);
    const kiln_network_kernel *k = transpose_of(&n);
    assert_int_equal(k->origin, r->want);
    assert_string_equal(k->tmpl, "generic");
    /* What it says is what it was made of. */
    const double n_rows = kiln_json_number(kiln_json_get(parse(k->config), "rows"), -1);
    assert_true(n_rows == (r->want == KILN_ORIGIN_GUESS ? 0 : 16));
}

static void a_files_entry_is_meant(void **state) {
    kiln_err err = {.status = KILN_OK};
    kiln_network n;
    const kiln_choose_options choose = {
        .file = parse(kiln_format(kiln_test_arena(),
                                  "[{\"op\": \"transpose{perm=[1,0,2]}(%%0: "
                                  "f32[64,7,5]) -> %%1\", \"template\": \"generic\", "
                                  "\"config\": %s}]",
                                  config))};
    (void)state;
    kiln_assert_status_ok(compile(&choose, false, &n, &err), &err);
    assert_int_equal(transpose_of(&n)->origin, KILN_ORIGIN_FILE);
    kiln_assert_fails(compile(&choose, true, &n, &err), KILN_ERR_ARG, &err,
                      "must have at most 32 vectors");
}

int main(void) {
    kiln_test_add_rows(check_advice, rows);
    kiln_test_add("a_files_entry_is_meant", a_files_entry_is_meant, NULL);
    return kiln_test_run("advice");
}
