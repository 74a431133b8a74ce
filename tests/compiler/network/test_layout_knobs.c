/* What a template says of its knobs: those of `layout_knobs` alone decide how
 * activations lie. */
#include "compiler/network/network_choose.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct row {
    const char *name, *work;
} row;

static row rows[] = {
    {"convolutions", "conv{pads=[1,1,1,1]}(%0: f32[1,24,14,14], %1: const "
                     "f32[40,24,3,3]) -> %2"},
    {"products", "conv(%0: f32[1,32,9,9], %1: const f32[48,32,1,1]) -> %2"},
    {"depthwise", "conv{pads=[1,1,1,1],groups=40}(%0: f32[1,40,9,9], %1: const "
                  "f32[40,1,3,3]) -> %2"},
    {"pools", "avg_pool{strides=[2,2],kernel=[2,2]}(%0: f32[1,24,10,10]) -> %1"},
};

typedef struct job {
    kiln_op_work work;
    kiln_profile profile;
    const kiln_template *t;
    kiln_space space;
} job;

static bool is_layout_knob(const job *j, int k) {
    for (int i = 0; j->t->layout_knobs[i] != NULL; i++)
        if (strcmp(j->t->layout_knobs[i], j->space.knob[k].name) == 0)
            return true;
    return false;
}

/* The names are of knobs of integers; of two configurations that agree in them and in
 * nothing else the layouts agree, where both make a schedule. */
static int check_template(kiln_arena *a, job *j, kiln_rng *rng) {
    enum { TRIES = 40 };
    int n_named = 0, n_same = 0;
    for (int k = 0; k < j->space.n; k++)
        n_named += is_layout_knob(j, k) && j->space.knob[k].value != NULL;
    assert_true(n_named > 0 && n_named <= KILN_MAX_LAYOUT_KNOBS);
    assert_null(j->t->layout_knobs[n_named]);
    for (int i = 0; i < TRIES; i++) {
        const kiln_config x = kiln_config_random(&j->space, rng);
        kiln_config y = kiln_config_random(&j->space, rng);
        for (int k = 0; k < j->space.n; k++)
            if (is_layout_knob(j, k))
                y.option[k] = x.option[k];
        const char *of_x =
            kiln_work_layouts(a, &j->work.workload, &j->profile, j->t, &j->space, &x);
        const char *of_y =
            kiln_work_layouts(a, &j->work.workload, &j->profile, j->t, &j->space, &y);
        if (of_x == NULL || of_y == NULL)
            continue;
        assert_string_equal(of_x, of_y);
        n_same++;
    }
    return n_same;
}

static void layout_knobs_alone_decide(void **state) {
    kiln_arena a = {0};
    kiln_rng rng;
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    job j = {.t = NULL};
    int n_same = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_assert_status_ok(kiln_profile_find(&a, "x86-avx512", &j.profile, &err), &err);
    kiln_assert_status_ok(
        kiln_workload_read(&a, kiln_str_from(((const row *)*state)->work), &g, &err),
        &err);
    kiln_assert_status_ok(kiln_op_work_of(&a, "g", g, &j.work, &err), &err);
    for (int i = 0; kiln_template_at(i) != NULL; i++) {
        j.t = kiln_template_at(i);
        if (j.t->layout_knobs == NULL ||
            !kiln_template_fits(j.t, &j.work.workload, &j.profile))
            continue;
        kiln_space_init(&j.space, &a);
        kiln_assert_status_ok(j.t->space(&j.work.workload, &j.profile, &j.space, &err),
                              &err);
        n_same += check_template(&a, &j, &rng);
    }
    assert_true(n_same > 0);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(layout_knobs_alone_decide, rows);
    return kiln_test_run("knobs of layouts");
}
