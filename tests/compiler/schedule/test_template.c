/* The table of templates, and the way from a scheduled workload to a loop program. */
#include "compiler/schedule/template.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static const char matmul_text[] = "graph \"g\" {\n"
                                  "  input %a : f32[5,7]\n"
                                  "  const %b : f32[7,6] = {0x1p-1 x 42}\n"
                                  "  %c = matmul(%a, %b) : f32[5,6] \"m\"\n"
                                  "  output %c \"c\"\n}\n";

static kiln_workload matmul(void) {
    kiln_err err = {0};
    kiln_graph *g;
    kiln_workload w;
    kiln_assert_status_ok(kiln_graph_parse(kiln_test_arena(),
                                           kiln_str_from(matmul_text), "text", &g,
                                           &err),
                          &err);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    return w;
}

/* Rows are found by their own names, each has everything, and the first that fits is
 * taken. */
static void rows_are_whole(void **state) {
    (void)state;
    const kiln_workload w = matmul();
    kiln_profile p;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_find(kiln_test_arena(), "x86-avx512", &p, &err),
                          &err);
    const kiln_template *first = NULL;
    for (int i = 0; kiln_template_at(i) != NULL; i++) {
        const kiln_template *t = kiln_template_at(i);
        assert_true(t->name != NULL && t->name[0] != '\0');
        assert_true(t->doc != NULL && t->doc[0] != '\0');
        assert_true(t->fits != NULL && t->space != NULL && t->guess != NULL &&
                    t->apply != NULL);
        assert_ptr_equal(kiln_template_find(kiln_str_from(t->name)), t);
        if (first == NULL && t->fits(&w, &p))
            first = t;
    }
    assert_ptr_equal(kiln_template_for(&w, &p), first);
    assert_null(kiln_template_at(-1));
    assert_null(kiln_template_find(KILN_STR_LIT("no such template")));
}

/* What binds loops to a grid of threads makes nothing for a CPU, whatever it says of
 * the workload; and the other way round. */
static void templates_are_for_one_kind(void **state) {
    (void)state;
    const kiln_workload w = matmul();
    const kiln_profile *p = kiln_profile_at(0);
    kiln_template t = *kiln_template_for(&w, p);
    assert_true(kiln_template_fits(&t, &w, p));
    t.target = KILN_TARGET_GPU;
    assert_true(t.fits(&w, p));
    assert_false(kiln_template_fits(&t, &w, p));
    t.target = KILN_TARGET_ACCELERATOR;
    assert_false(kiln_template_fits(&t, &w, p));
}

/* A schedule by hand, for what kiln_scheduled_program itself does: arguments in order,
 * all passes run. */
static void scheduled_program_is_flat_and_right(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_workload w = matmul();
    kiln_scheduled s = {0};
    kiln_assert_status_ok(kiln_graph_compute(a, w.graph, NULL, false, &s.te, &err),
                          &err);
    assert_int_equal(s.te.n_args, 3);
    s.schedule = kiln_schedule_new(a, &s.te.arg[2], 1);
    kiln_stage *st = kiln_schedule_stage(s.schedule, s.te.arg[2]);
    kiln_iter *outer, *inner;
    kiln_assert_status_ok(
        kiln_split(st, kiln_stage_axis(st, 1), 4, &outer, &inner, &err), &err);
    kiln_assert_status_ok(kiln_vectorize(st, inner, &err), &err);
    kiln_program *p;
    kiln_assert_status_ok(kiln_scheduled_program(a, &s, "m", &p, &err), &err);
    assert_true(p->is_flat);
    assert_int_equal(p->n_args, 3);
    assert_int_equal(p->n_inputs, 2);

    const kiln_tensor in[] = {kiln_ref_random(a, &s.te.arg_type[0], 1)};
    kiln_tensor want;
    kiln_assert_status_ok(kiln_ref_run(a, w.graph, in, 1, &want, &err), &err);
    float got[30];
    memset(got, 0xff, sizeof got);
    float b[42];
    for (size_t i = 0; i < 42; i++)
        b[i] = 0.5F;
    void *const arg[] = {in[0].data, b, got};
    kiln_assert_status_ok(kiln_program_run(a, p, arg, NULL, &err), &err);
    kiln_assert_close(got, (const float *)want.data, 30, 4, 1e-6);
}

/* ---- what a template promises ---------------------------------------------------- */

static kiln_status say_another_layout(kiln_arena *a, const kiln_workload *w,
                                      const kiln_profile *p, const kiln_space *s,
                                      const kiln_config *c, kiln_scheduled *out,
                                      kiln_err *err) {
    KILN_TRY(kiln_template_generic.apply(a, w, p, s, c, out, err));
    out->te.arg_type[0].layout = (kiln_layout){.n_order = 2, .order = {1, 0}};
    return KILN_OK;
}

static kiln_status say_another_size(kiln_arena *a, const kiln_workload *w,
                                    const kiln_profile *p, const kiln_space *s,
                                    const kiln_config *c, kiln_scheduled *out,
                                    kiln_err *err) {
    KILN_TRY(kiln_template_generic.apply(a, w, p, s, c, out, err));
    out->te.arg_type[2].layout = (kiln_layout){.n_blocks = 1, .block = {{1, 4}}};
    return KILN_OK;
}

static kiln_status say_another_dtype(kiln_arena *a, const kiln_workload *w,
                                     const kiln_profile *p, const kiln_space *s,
                                     const kiln_config *c, kiln_scheduled *out,
                                     kiln_err *err) {
    KILN_TRY(kiln_template_generic.apply(a, w, p, s, c, out, err));
    out->te.arg_type[1].dtype = KILN_I32;
    return KILN_OK;
}

typedef struct lie {
    const char *name;
    kiln_takes takes;
    kiln_layout of_a; /* what the workload's input has */
    kiln_status (*apply)(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                         const kiln_space *s, const kiln_config *c, kiln_scheduled *out,
                         kiln_err *err); /* NULL: the generic template's */
    const char *text;
} lie;

static lie lies[] = {
    {"blocks_for_who_takes_none",
     KILN_TAKES_PLAIN,
     {.n_blocks = 1, .block = {{1, 4}}},
     NULL,
     "template 'liar' takes row-major values, 'a' is given to it in another layout"},
    {"another_layout",
     KILN_TAKES_ANY,
     {0},
     say_another_layout,
     "'a' is computed as f32[5,7], the kernel says that it lies as f32[5,7]{order=10}"},
    {"another_size",
     KILN_TAKES_ANY,
     {0},
     say_another_size,
     "'c' in the kernel's layout f32[5,6]{block=1x4} has 160 bytes, its stage has 30"},
    {"another_dtype",
     KILN_TAKES_ANY,
     {0},
     say_another_dtype,
     "'b' is f32[7,6], the kernel says i32[7,6]"},
};

static void templates_are_held_to_their_word(void **state) {
    const lie *r = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_workload w = matmul();
    kiln_template t = kiln_template_generic;
    kiln_profile p;
    kiln_space space;
    kiln_scheduled s;
    kiln_err err = {0};
    t.name = "liar";
    t.takes = r->takes;
    t.apply = r->apply != NULL ? r->apply : t.apply;
    w.graph->inputs.v[0]->type.layout = r->of_a;
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &p, &err), &err);
    kiln_space_init(&space, a);
    kiln_assert_status_ok(t.space(&w, &p, &space, &err), &err);
    const kiln_config c = t.guess(&w, &p, &space);
    kiln_assert_fails(kiln_template_apply(a, &t, &w, &p, &space, &c, &s, &err),
                      KILN_ERR_BUG, &err, r->text);
}

int main(void) {
    kiln_test_add_rows(templates_are_held_to_their_word, lies);
    kiln_test_add("rows_are_whole", rows_are_whole, NULL);
    kiln_test_add("templates_are_for_one_kind", templates_are_for_one_kind, NULL);
    kiln_test_add("scheduled_program_is_flat_and_right",
                  scheduled_program_is_flat_and_right, NULL);
    return kiln_test_run("template");
}
