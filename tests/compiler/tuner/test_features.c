/* Features of small loop nests against numbers worked out by hand, and what must not
 * matter to them. */
#include "compiler/tuner/features.h"

#include <math.h>
#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/kernel/sim_conv.h"

typedef struct value {
    const char *feature;
    double want;
} value;

typedef struct row {
    const char *name, *text;
    value value[12];
} row;

/* Of the product, by loop (j, k, i): operations 64, 1024, 8192; elements of a 1, 16,
 * 128, of b 32, 512, 512, of c 32, 32, 256: bytes 260, 2240, 3584. */
static row rows[] = {
    {"counts_operations",
     kiln_sim_product,
     {{"work", 13},
      {"useful_share", 1},
      {"other_work", 0},
      {"n_loops", 3},
      {"n_stmts", 1}}},
    {"knows_the_vector_operand",
     kiln_sim_product,
     {{"lanes", 5},
      {"vector_step", 1},    /* neighbours */
      {"broadcast_step", 1}, /* a[i, k]: the next one for the next k */
      {"vector_loads", 1},
      {"broadcast_loads", 1},
      {"accumulators", 1},
      {"steps", 4},
      {"parallel", 3},
      {"parallel_work", 10}}},
    {"relates_work_to_bytes",
     kiln_sim_product,
     {{"all.work_in_touched[3]", -1}, /* 256 <= 260 */
      {"all.work_in_touched[4]", 6},
      {"all.work_in_touched[5]", 13}, /* 2240 and 3584 are below 4096 */
      {"all.work_in_touched[13]", 13}}},
    {"relates_elements_to_work",
     kiln_sim_product,
     {{"vector.touched_in_work[2]", -1}, /* 64 <= 64 */
      {"vector.touched_in_work[3]", 5},
      {"vector.touched_in_work[4]", 5}, /* 1024 <= 1024 */
      {"vector.touched_in_work[5]", 9},
      {"broadcast.touched_in_work[3]", 0},
      {"broadcast.touched_in_work[6]", 7}}},
    {"relates_reuse_to_elements",
     kiln_sim_product,
     {{"broadcast.reuse_in_touched[0]", 5}, /* one element, 32 times */
      {"broadcast.reuse_in_touched[13]", 5},
      {"vector.reuse_in_touched[2]", 0},
      {"vector.reuse_in_touched[3]", 0}, /* 512 is not below 256 */
      {"vector.reuse_in_touched[4]", 3}}},
    {"lists_loops_from_the_inside",
     kiln_sim_product,
     {{"loop[0].length", 5},
      {"loop[0].vectorized", 1},
      {"loop[0].topdown", 7},
      {"loop[0].stored.touched", 5},
      {"loop[1].length", 4},
      {"loop[1].vector.touched", 9},
      {"loop[1].vector.step", 6}, /* 32 elements: 1 + log2 */
      {"loop[2].parallel", 1},
      {"loop[2].broadcast.touched", 7},
      {"loop[2].stored.step", 6},
      {"loop[3].length", -1}}},
    {"sees_through_splits_and_fuses",
     "program p(x: f32[6, 10], out y: f32[6, 10]) {\n"
     "  for f in 0 .. +12 {\n"
     "    for j in 0 .. +5 {\n"
     "      y[(f*5 + j) // 10, (f*5 + j) % 10] = x[f // 2, f % 2*5 + j]\n"
     "    }\n"
     "  }\n"
     "}\n",
     {{"loop[0].vector.touched", 2.321928}, /* 5 */
      {"loop[1].vector.touched", 5.906891}, /* 60 */
      {"loop[0].vector.step", 1}}},
    {"counts_steps_once",
     "program p(x: f32[64], out y: f32[8]) {\n"
     "  for i in 0 .. +8 {\n"
     "    y[i] = x[i*8 + 3]\n"
     "  }\n"
     "}\n",
     {{"loop[0].vector.touched", 3}, {"loop[0].vector.step", 4}, {"memory", 6}}},
    {"shares_what_guards_let_through",
     "program p(x: f32[10], out y: f32[10]) {\n"
     "  for i in 0 .. +3 {\n"
     "    for j in 0 .. +4 {\n"
     "      if i*4 + j < 10 {\n"
     "        y[i*4 + j] = x[i*4 + j]\n"
     "      }\n"
     "    }\n"
     "  }\n"
     "}\n",
     {{"useful_share", 10.0 / 12},
      {"guards", 1},
      {"loop[1].vector.touched", 3.321928}}}, /* not past the end: 10 */
    {"counts_a_guard_once",
     "program p(x: f32[10], out y: f32[10]) {\n"
     "  for i in 0 .. +12 {\n"
     "    if i < 10 {\n"
     "      if i <= 9 {\n"
     "        y[i] = x[i]\n"
     "      }\n"
     "    }\n"
     "  }\n"
     "}\n",
     {{"useful_share", 10.0 / 12}, {"guards", 2}}},
    {"measures_the_register_body",
     "program p(a: f32[4, 64], b: f32[64, 32], out c: f32[4, 32]) {\n"
     "  alloc t: f32[4, 2, 16] register {\n"
     "    for k in 0 .. +64 {\n"
     "      unroll i in 0 .. +4 {\n"
     "        unroll j in 0 .. +2 {\n"
     "          vectorized l in 0 .. +16 {\n"
     "            t[i, j, l] = t[i, j, l] + a[i, k]*b[k, j*16 + l]\n"
     "          }\n"
     "        }\n"
     "      }\n"
     "    }\n"
     "    for m in 0 .. +4 {\n"
     "      for n in 0 .. +32 {\n"
     "        c[m, n] = t[m, n // 16, n % 16]\n"
     "      }\n"
     "    }\n"
     "  }\n"
     "}\n",
     {{"lanes", 4},
      {"body", 3},
      {"accumulators", 8},
      {"vector_loads", 2},
      {"broadcast_loads", 4},
      {"work_per_load", 8.0 / 6},
      {"steps", 6},
      {"registers", 9}, /* 128 floats */
      {"other_work", 7},
      {"written_step", 1},
      {"copied", 0}}},
    {"tells_what_is_copied",
     "program p(x: f32[8, 8], out y: f32[8, 8]) {\n"
     "  alloc t: f32[8, 8] {\n"
     "    for i in 0 .. +8 {\n"
     "      for j in 0 .. +8 {\n"
     "        t[j, i] = x[i, j]\n"
     "      }\n"
     "    }\n"
     "    for m in 0 .. +8 {\n"
     "      for n in 0 .. +8 {\n"
     "        y[m, n] = t[m, n]*t[m, n] + 1f\n"
     "      }\n"
     "    }\n"
     "  }\n"
     "}\n",
     {{"copied", 8},      /* 64 floats */
      {"copied_step", 4}, /* 8 elements */
      {"copied.touched_in_work[13]", 6},
      {"written.touched_in_work[13]", 6}}},
    {"has_numbers_for_nothing",
     "program p(x: f32[1], out y: f32[1]) {\n"
     "  y[0] = x[0]\n"
     "}\n",
     {{"work", 0},
      {"n_loops", 0},
      {"steps", -1},
      {"parallel", -1},
      {"loop[0].length", -1}}},
    {"takes_what_it_cannot_follow_as_all",
     "program p(x: f32[64], p: i64[8], out y: f32[8]) {\n"
     "  for i in 0 .. +8 {\n"
     "    y[i] = x[p[i]]\n"
     "  }\n"
     "}\n",
     {{"loop[0].broadcast.touched", 6}, {"loop[0].broadcast.step", 0}}},
};

/* Two warps in each of two blocks: y is written by neighbours, x is read in columns,
 * s without conflicts and with two turns. */
static const char launched[] = "program p(x: f32[64, 64], out y: f32[2, 64]) {\n"
                               "  thread \"blockIdx.x\" b in 0 .. +2 {\n"
                               "    thread \"threadIdx.x\" t in 0 .. +64 {\n"
                               "      alloc s: f32[128] shared {\n"
                               "        s[t] = x[t, b]\n"
                               "        barrier shared\n"
                               "        y[b, t] = s[t*2]\n"
                               "      }\n"
                               "    }\n"
                               "  }\n"
                               "}\n";

static float *features_of(const char *text) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_program *p;
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    float *out = kiln_array(a, float, kiln_n_features());
    kiln_program_features(a, p, 32, out);
    return out;
}

static const char *name_of(size_t i) {
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    kiln_feature_name(&b, i);
    return b.p;
}

static size_t place_of(const char *name) {
    for (size_t i = 0; i < kiln_n_features(); i++)
        if (strcmp(name_of(i), name) == 0)
            return i;
    fail_msg("there is no feature '%s'", name);
    return 0;
}

static void check_values(void **state) {
    const row *r = *state;
    const float *got = features_of(r->text);
    for (const value *v = r->value; v < r->value + 12 && v->feature != NULL; v++) {
        const double is = (double)got[place_of(v->feature)];
        if (fabs(is - v->want) > 1e-5)
            fail_msg("%s is %g, not %g", v->feature, is, v->want);
    }
}

static void launches_move_sectors(void **state) {
    (void)state;
    static const value want[] = {{"parallel", 1},
                                 {"n_parallel", 6},
                                 {"copied", 9},
                                 {"written_step", 7.1699250}, /* 4 warps: 32 + 4 each */
                                 {"vector_step", 0.2222222},
                                 {"copied_step", 3.5849625}, /* 4 warps: 1 + 2 */
                                 {"broadcast_step", 0.6666667}};
    const float *got = features_of(launched);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const double is = (double)got[place_of(want[i].feature)];
        if (fabs(is - want[i].want) > 1e-5)
            fail_msg("%s is %g, not %g", want[i].feature, is, want[i].want);
    }
}

static void names_are_unique(void **state) {
    (void)state;
    kiln_map seen = {0};
    for (size_t i = 0; i < kiln_n_features(); i++)
        assert_true(
            kiln_map_set(kiln_test_arena(), &seen, kiln_str_from(name_of(i)), &seen));
    assert_true(kiln_n_relation_features() < kiln_n_features());
    assert_string_equal(name_of(kiln_n_relation_features()), "loop[0].length");
}

static void assert_same(const float *x, const float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            fail_msg("%s is %g and %g", name_of(i), (double)x[i], (double)y[i]);
}

static void names_and_arguments_do_not_matter(void **state) {
    (void)state;
    const float *other =
        features_of("program q(w: f32[16, 32], v: f32[8, 16], out o: f32[8, 32]) {\n"
                    "  parallel r in 0 .. +8 {\n"
                    "    for s in 0 .. +16 {\n"
                    "      vectorized t in 0 .. +32 {\n"
                    "        o[r, t] = v[r, s]*w[s, t] + o[r, t]\n"
                    "      }\n"
                    "    }\n"
                    "  }\n"
                    "}\n");
    assert_same(features_of(kiln_sim_product), other, kiln_n_features());
}

/* The relation form says the same of a nest with a loop that runs once. */
static void relations_do_not_count_loops(void **state) {
    (void)state;
    const float *x = features_of(kiln_sim_product);
    const float *y =
        features_of("program p(a: f32[8, 16], b: f32[16, 32], out c: f32[8, 32]) {\n"
                    "  parallel i in 0 .. +8 {\n"
                    "    for k in 0 .. +16 {\n"
                    "      for u in 0 .. +1 {\n"
                    "        vectorized j in 0 .. +32 {\n"
                    "          c[i, j] = c[i, j] + a[i, k + u]*b[k + u, j]\n"
                    "        }\n"
                    "      }\n"
                    "    }\n"
                    "  }\n"
                    "}\n");
    const size_t first = place_of("all.work_in_touched[0]");
    assert_same(x + first, y + first, kiln_n_relation_features() - first);
}

/* Random points of a real space: finite, the same again, and not all the same. */
static void real_programs_have_features(void **state) {
    (void)state;
    static const kiln_sim_shape shape = {"c6", 28, 128, 128, 3, 1};
    kiln_arena a = {0};
    kiln_rng rng;
    kiln_sim_conv c;
    kiln_sim_conv_make(&a, &shape, &c);
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_candidates *x = kiln_candidates_new(&a, &c.task, &kiln_cost_model_xgboost);
    kiln_candidates *y = kiln_candidates_new(&a, &c.task, &kiln_cost_model_random);
    const size_t bytes = kiln_n_features() * sizeof(float);
    float *got = kiln_array(&a, float, kiln_n_features());
    float *first = kiln_array(&a, float, kiln_n_features());
    int n_different = 0;
    for (int i = 0; i < 300; i++) {
        const kiln_config config = kiln_config_random(&c.task.space, &rng);
        const uint64_t index = kiln_config_index(&c.task.space, &config);
        const kiln_encoding *e = kiln_candidates_encoding(x, index);
        assert_non_null(e);
        assert_int_equal(e->bytes.n, bytes);
        memcpy(got, e->bytes.p, bytes);
        for (size_t f = 0; f < kiln_n_features(); f++)
            if (!isfinite(got[f]) || got[f] < -1)
                fail_msg("%s is %g", name_of(f), (double)got[f]);
        const kiln_encoding *same = kiln_candidates_encoding(y, index);
        assert_memory_equal(got, same->bytes.p, bytes);
        assert_true(e->hash == same->hash);
        if (i == 0)
            memcpy(first, got, bytes);
        n_different += memcmp(first, got, bytes) != 0;
    }
    assert_true(n_different > 290);
    assert_int_equal(kiln_candidates_count(x).lowered, 300);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check_values, rows);
    kiln_test_add("launches_move_sectors", launches_move_sectors, NULL);
    kiln_test_add("names_are_unique", names_are_unique, NULL);
    kiln_test_add("names_and_arguments_do_not_matter",
                  names_and_arguments_do_not_matter, NULL);
    kiln_test_add("relations_do_not_count_loops", relations_do_not_count_loops, NULL);
    kiln_test_add("real_programs_have_features", real_programs_have_features, NULL);
    return kiln_test_run("features");
}
