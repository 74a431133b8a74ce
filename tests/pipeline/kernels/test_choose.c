/* Which template and configuration: the file goes before the guess; what does not fit
 * is refused, with what would. */
#include "compiler/network/network_choose.h"
#include "pipeline/kernels/op_line.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static const char line_text[] = "matmul M m=8 k=5 n=6";

typedef struct fixture {
    kiln_arena *a;
    kiln_op_work work;
    kiln_profile profile;
} fixture;

static void make(fixture *f) {
    kiln_err err = {0};
    kiln_op_line line;
    f->a = kiln_test_arena();
    kiln_assert_status_ok(kiln_profile_find(f->a, "x86-avx512", &f->profile, &err),
                          &err);
    kiln_assert_status_ok(kiln_op_line_of(f->a, line_text, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(f->a, &line, &f->work, &err), &err);
}

/* A file of one entry for this workload: the guess of `tmpl`, but for its index. */
static const char *entry(const fixture *f, const char *op, const char *profile,
                         const char *tmpl, uint64_t index) {
    const kiln_template *t = kiln_template_find(kiln_str_from(tmpl));
    kiln_space s;
    kiln_err err = {0};
    assert_non_null(t);
    kiln_space_init(&s, f->a);
    kiln_assert_status_ok(t->space(&f->work.workload, &f->profile, &s, &err), &err);
    const kiln_config c = kiln_config_at(&s, index % s.size);
    kiln_buf out;
    kiln_buf_init(&out, f->a);
    kiln_buf_printf(&out, "[{\"op\": \"%s\", %s \"template\": \"%s\", \"config\": ", op,
                    profile, tmpl);
    kiln_config_json(&out, t, &s, &c);
    kiln_buf_puts(&out, "}]");
    return out.p;
}

static kiln_status choose(fixture *f, const char *file, const char *tmpl,
                          kiln_choice *out, kiln_err *err) {
    kiln_choose_options o = {.tmpl = tmpl};
    if (file != NULL) {
        kiln_assert_status_ok(
            kiln_json_parse(f->a, kiln_str_from(file), "f.json", &o.file, err), err);
        KILN_TRY(kiln_config_file_check(o.file, "f.json", err));
    }
    return kiln_choose(f->a, &f->work, &f->profile, &o, out, err);
}

static void guesses_without_a_file(void **state) {
    (void)state;
    fixture f;
    kiln_choice c;
    kiln_err err = {0};
    make(&f);
    kiln_assert_status_ok(choose(&f, NULL, NULL, &c, &err), &err);
    assert_ptr_equal(c.tmpl, kiln_template_for(&f.work.workload, &f.profile));
    const kiln_config guess = c.tmpl->guess(&f.work.workload, &f.profile, &c.space);
    assert_int_equal(c.origin, KILN_ORIGIN_GUESS);
    assert_int_equal(kiln_config_index(&c.space, &c.config),
                     kiln_config_index(&c.space, &guess));
}

typedef struct row {
    const char *name, *op, *profile;
    kiln_origin origin;
} row;

static row rows[] = {
    {"takes_an_entry_by_name", "M", "", KILN_ORIGIN_FILE},
    {"takes_an_entry_by_key", "matmul(%0: f32[8,5], %1: const f32[5,6]) -> %2", "",
     KILN_ORIGIN_FILE},
    {"takes_an_entry_by_the_anchors_key", "matmul(%0: f32[8,5], %1: const f32[5,6])",
     "", KILN_ORIGIN_FILE},
    {"takes_an_entry_for_its_profile", "M", "\"profile\": \"x86-avx512\",",
     KILN_ORIGIN_FILE},
    {"leaves_an_entry_for_another_profile", "M", "\"profile\": \"x86-avx2\",",
     KILN_ORIGIN_GUESS},
    {"leaves_an_entry_for_another_operator", "N", "", KILN_ORIGIN_GUESS},
};

static void check_entry(void **state) {
    const row *r = *state;
    fixture f;
    kiln_choice c;
    kiln_err err = {0};
    make(&f);
    const char *file = entry(&f, r->op, r->profile, "matmul", 5);
    kiln_assert_status_ok(choose(&f, file, NULL, &c, &err), &err);
    assert_int_equal(c.origin, r->origin);
    if (r->origin == KILN_ORIGIN_FILE)
        assert_int_equal(kiln_config_index(&c.space, &c.config), 5 % c.space.size);
}

static void template_option_goes_first(void **state) {
    (void)state;
    fixture f;
    kiln_choice c;
    kiln_err err = {0};
    make(&f);
    kiln_assert_status_ok(
        choose(&f, entry(&f, "M", "", "matmul", 5), "generic", &c, &err), &err);
    assert_string_equal(c.tmpl->name, "generic");
    assert_int_equal(c.origin, KILN_ORIGIN_GUESS);
}

static void guess_on_every_profile(kiln_arena *a, const kiln_op_line *line) {
    const int step = kiln_test_cases(3) == 1 ? 3 : 1;
    kiln_op_work work;
    kiln_choice c;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_op_work_make(a, line, &work, &err), &err);
    for (int p = 0; kiln_profile_at(p) != NULL; p++)
        if (p % step == 0)
            kiln_assert_status_ok(kiln_choose(a, &work, kiln_profile_at(p),
                                              &(kiln_choose_options){.tmpl = NULL}, &c,
                                              &err),
                                  &err);
}

/* Every operator of the lists that ship has a guess on every profile; under a sanitizer
 * on a third of them. */
static void lists_that_ship_are_guessed(void **state) {
    (void)state;
    for (int i = 0; kiln_op_list_at(i) != NULL; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_op_lines lines;
        kiln_assert_status_ok(kiln_op_lines_read(&a, kiln_op_list_at(i), &lines, &err),
                              &err);
        for (size_t k = 0; k < lines.list.n; k++) {
            const kiln_arena_mark mark = kiln_arena_save(&a);
            guess_on_every_profile(&a, &lines.list.v[k]);
            kiln_arena_rewind(&a, mark);
        }
        kiln_arena_fini(&a);
    }
}

typedef struct refusal {
    const char *name, *file, *tmpl;
    kiln_status status;
    const char *text;
} refusal;

static refusal refusals[] = {
    {"rejects_an_unknown_template", NULL, "winograd", KILN_ERR_ARG,
     "there is no template 'winograd'; those that fit 'M' are: matmul"},
    {"rejects_a_template_that_does_not_fit", NULL, "conv_direct", KILN_ERR_ARG,
     "template 'conv_direct' does not fit 'M'; those that do are: matmul"},
    {"rejects_what_is_no_list", "{\"op\": \"M\"}", NULL, KILN_ERR_PARSE,
     "f.json: a list of configurations was expected"},
    {"rejects_an_entry_without_a_configuration",
     "[{\"op\": \"M\", \"template\": \"matmul\"}]", NULL, KILN_ERR_PARSE,
     "f.json: entry 0 must have the texts 'op' and 'template' and the object 'config'"},
    {"rejects_an_unknown_member",
     "[{\"op\": \"M\", \"template\": \"matmul\", \"config\": {}, \"knobs\": {}}]", NULL,
     KILN_ERR_PARSE, "f.json: entry 0 has an unknown member"},
    {"rejects_an_unknown_knob",
     "[{\"op\": \"M\", \"template\": \"matmul\", \"config\": {\"speed\": 11}}]", NULL,
     KILN_ERR_ARG, "template 'matmul' has no knob 'speed' for this workload; it has "},
    {"rejects_an_unknown_template_in_a_file",
     "[{\"op\": \"M\", \"template\": \"fast\", \"config\": {}}]", NULL, KILN_ERR_ARG,
     "there is no template 'fast'"},
};

static void check_refusal(void **state) {
    const refusal *r = *state;
    fixture f;
    kiln_choice c;
    kiln_err err = {0};
    make(&f);
    kiln_assert_fails(choose(&f, r->file, r->tmpl, &c, &err), r->status, &err, r->text);
}

int main(void) {
    kiln_test_add("guesses_without_a_file", guesses_without_a_file, NULL);
    kiln_test_add_rows(check_entry, rows);
    kiln_test_add("template_option_goes_first", template_option_goes_first, NULL);
    kiln_test_add("lists_that_ship_are_guessed", lists_that_ship_are_guessed, NULL);
    kiln_test_add_rows(check_refusal, refusals);
    return kiln_test_run("choose");
}
