/* What templates choose without a search, for each profile: a change of a rule or of a
 * machine model shows what it changes. A file's input is a profile and lists of
 * operators, or single ones. */
#include "pipeline/kernels/kernels.h"
#include "tests/support/kiln_test.h"

static void put_guess(kiln_arena *a, const kiln_op_line *line, const kiln_profile *p,
                      kiln_buf *out) {
    kiln_err err = {0};
    kiln_op_work work;
    kiln_choice c;
    kiln_json_writer w;
    const kiln_choose_options o = {.tmpl = NULL};
    kiln_assert_status_ok(kiln_op_work_make(a, line, &work, &err), &err);
    kiln_assert_status_ok(kiln_choose(a, &work, p, &o, &c, &err), &err);
    kiln_buf_printf(out, "%s: ", line->name);
    kiln_json_writer_init(&w, out);
    w.compact_from = 1;
    kiln_config_put(&w, c.tmpl, &c.space, &c.config);
    kiln_buf_puts(out, "\n");
}

static void put_line(kiln_arena *a, kiln_str line, const kiln_profile *p,
                     kiln_buf *out) {
    kiln_err err = {0};
    kiln_op_lines lines = {.list = {.n = 0}};
    const char *text = kiln_str_dupv(a, line);
    kiln_op_line one;
    if (kiln_op_lines_read(a, text, &lines, NULL) != KILN_OK) {
        kiln_assert_status_ok(kiln_op_line_of(a, text, &one, &err), &err);
        kiln_vec_push(a, &lines.list, one);
    }
    for (size_t i = 0; i < lines.list.n; i++)
        put_guess(a, &lines.list.v[i], p, out);
}

static void guesses(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_test_golden golden;
    kiln_profile p;
    kiln_str line;
    kiln_buf out;
    kiln_test_golden_read(*state, &golden);
    kiln_str rest = golden.input;
    assert_true(kiln_str_cut(&rest, '\n', &line));
    kiln_assert_status_ok(kiln_profile_find(a, kiln_str_dupv(a, line), &p, &err), &err);
    kiln_buf_init(&out, a);
    while (kiln_str_cut(&rest, '\n', &line))
        if (line.n > 0)
            put_line(a, line, &p, &out);
    kiln_test_golden_check(&golden, kiln_buf_str(&out));
}

int main(void) {
    kiln_test_add_golden("tests/pipeline/kernels/golden/guesses", guesses);
    return kiln_test_run("guesses");
}
