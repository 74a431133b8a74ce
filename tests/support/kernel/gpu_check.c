#include "tests/support/kernel/gpu_check.h"

#include "compiler/reference/reference.h"
#include "tests/support/gpu/support_barriers.h"
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ARGS = 16, TRIES = 6 };

/* As lowered, with the passes up to the barriers. */
static kiln_status with_barriers(kiln_arena *a, const kiln_scheduled *x,
                                 kiln_program **out, kiln_err *err) {
    KILN_TRY(kiln_lower(a, x->schedule, x->te.arg, x->te.n_args, x->te.n_inputs, "k",
                        out, err));
    for (int i = 0; kiln_loop_pass_at(i) != NULL; i++) {
        KILN_TRY(kiln_loop_pass_at(i)->run(*out, &x->loop, err));
        if (kiln_loop_pass_at(i) == &kiln_loop_pass_barriers)
            break;
    }
    return KILN_OK;
}

static bool draw(template_runs *r, const kiln_template *t, const kiln_workload *w,
                 kiln_scheduled *x) {
    const kiln_profile *p = kiln_gpu_profile_at((int)kiln_rng_range(&r->rng, 0, 5));
    kiln_err err = {0};
    kiln_space s;
    if (!kiln_template_fits(t, w, p))
        return false;
    kiln_space_init(&s, r->arena);
    kiln_assert_status_ok(t->space(w, p, &s, &err), &err);
    for (int i = 0; i < TRIES; i++) {
        kiln_config c = kiln_config_random(&s, &r->rng);
        for (int k = 0; k < s.n; k++) /* without, there are few barriers */
            if (strcmp(s.knob[k].name, "fetch") == 0 && s.knob[k].n > 1)
                template_set_word(&s, &c, "fetch", "shared");
        if (kiln_template_apply(r->arena, t, w, p, &s, &c, x, &err) == KILN_OK)
            return true;
    }
    return false;
}

int64_t gpu_check_barriers(template_runs *r, const kiln_template *tmpl,
                           const kiln_graph *g) {
    kiln_arena *a = r->arena;
    kiln_err err = {0};
    kiln_workload w;
    kiln_scheduled x;
    kiln_program *p;
    void *arg[MAX_ARGS];
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    if (!draw(r, tmpl, &w, &x))
        return 0;
    kiln_assert_status_ok(with_barriers(a, &x, &p, &err), &err);
    assert_true(x.te.n_args <= MAX_ARGS);
    for (size_t i = 0; i < x.te.n_args; i++)
        arg[i] = kiln_ref_random(a, &x.te.arg_type[i], (uint64_t)r->i + i).data;
    const int64_t n = kiln_test_barriers(a, p->body);
    for (int64_t i = 0; i < n; i++) {
        const kiln_loop_run_options o = {.seed = (uint64_t)i + 1};
        kiln_program q = *p;
        kiln_err missed = {0};
        q.body = kiln_test_without_barrier(a, p->body, i);
        if (kiln_program_run(a, &q, arg, &o, &missed) == KILN_OK ||
            !kiln_test_is_missed(&missed)) {
            kiln_buf text;
            kiln_buf_init(&text, a);
            kiln_program_print(&text, p);
            fprintf(stderr, "%s\n", text.p);
            fail_msg("barrier %" PRId64 " is not missed: %s", i, missed.text);
        }
    }
    return n;
}

void gpu_check_traffic(kiln_arena *a, const kiln_template *t, const kiln_workload *w,
                       const kiln_profile *p, const kiln_space *s, const kiln_config *c,
                       kiln_traffic *out) {
    kiln_err err = {0};
    kiln_scheduled x;
    kiln_program *made;
    void *arg[MAX_ARGS];
    kiln_arena run = {0};
    const kiln_loop_run_options o = {.traffic = out};
    kiln_assert_status_ok(kiln_template_apply(a, t, w, p, s, c, &x, &err), &err);
    kiln_assert_status_ok(kiln_scheduled_program(a, &x, "k", &made, &err), &err);
    assert_true(x.te.n_args <= MAX_ARGS);
    for (size_t i = 0; i < x.te.n_args; i++)
        arg[i] = kiln_ref_random(a, &x.te.arg_type[i], i).data;
    kiln_assert_status_ok(kiln_program_run(&run, made, arg, &o, &err), &err);
    kiln_arena_fini(&run);
}

const kiln_buffer_traffic *gpu_check_traffic_of(const kiln_traffic *t,
                                                const char *buffer) {
    for (size_t i = 0; i < t->of.n; i++)
        if (strcmp(t->of.v[i].buffer->name, buffer) == 0)
            return &t->of.v[i];
    fail_msg("nobody touched '%s'", buffer);
    return NULL;
}

void gpu_check_guesses(const kiln_template *t, const kiln_graph *g) {
    for (int i = 0; kiln_gpu_profile_at(i) != NULL; i++) {
        const kiln_profile *p = kiln_gpu_profile_at(i);
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_workload w;
        kiln_space s;
        kiln_scheduled x;
        kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
        assert_true(kiln_template_fits(t, &w, p));
        kiln_space_init(&s, &a);
        kiln_assert_status_ok(t->space(&w, p, &s, &err), &err);
        const kiln_config c = t->guess(&w, p, &s);
        kiln_assert_status_ok(kiln_template_apply(&a, t, &w, p, &s, &c, &x, &err),
                              &err);
        kiln_arena_fini(&a);
    }
}
