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

int main(void) {
    kiln_test_add("rows_are_whole", rows_are_whole, NULL);
    kiln_test_add("scheduled_program_is_flat_and_right",
                  scheduled_program_is_flat_and_right, NULL);
    return kiln_test_run("template");
}
