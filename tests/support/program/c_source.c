#include "tests/support/program/c_source.h"

#include "base/files/file.h"

#include <string.h>

const char kiln_test_math_graph[] =
    "graph \"math\" {\n input %x : f32[5,33]\n"
    " %a = exp(%x)\n %b = tanh(%a)\n %c = sigmoid(%x)\n %d = mul(%b, %c)\n"
    " %e = erf(%d)\n %f = sin(%x)\n %g = add(%e, %f)\n %h = abs(%g)\n"
    " %i = sqrt(%h)\n %j = pow(%i, %h)\n %k = softmax(%j) {axis=1}\n"
    " output %k\n}\n";

bool kiln_test_program(kiln_arena *a, const char *const *argv, kiln_process_result *r) {
    kiln_err err = {0};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    return kiln_process_run(a, &o, r, &err) == KILN_OK &&
           r->end == KILN_PROCESS_EXITED && r->code != 127;
}

bool kiln_test_has_program(kiln_arena *a, const char *program) {
    const char *const argv[] = {program, "--version", NULL};
    kiln_process_result r;
    return program == NULL || kiln_test_program(a, argv, &r);
}

const char *kiln_test_write_network(kiln_arena *a, const char *dir,
                                    const kiln_test_network *n, const char *profile,
                                    const char *format) {
    const char *to = kiln_format(a, "@%s-%s-%s", n->name, profile, format);
    const char *model = n->model;
    kiln_err err = {0};
    if (n->text != NULL) {
        model = kiln_format(a, "%s/%s.kgraph", dir, n->name);
        kiln_assert_status_ok(kiln_file_write(model, n->text, strlen(n->text), &err),
                              &err);
    }
    kiln_test_cli_row row = {n->name,
                             {"build", model, "--profile", profile, "--format", format,
                              "--name", "net", "-o", to},
                             0,
                             "net_selftest.c",
                             NULL};
    for (int i = 0; n->more[i] != NULL; i++)
        row.arg[10 + i] = n->more[i];
    kiln_test_cli_check(a, dir, &row);
    return kiln_format(a, "%s/%s", dir, to + 1);
}

void kiln_test_compile(kiln_arena *a, const char *const *argv) {
    kiln_process_result r = {0};
    assert_true(kiln_test_program(a, argv, &r));
    if (r.code != 0)
        fail_msg("%s refuses it: %.*s", argv[0], r.err.n < 3000 ? (int)r.err.n : 3000,
                 r.err.p);
}

void kiln_test_selftest(kiln_arena *a, const char *before, const char *program) {
    const char *const here[] = {program, NULL};
    const char *const there[] = {before, program, NULL};
    kiln_process_result r = {0};
    assert_true(kiln_test_program(a, before != NULL ? there : here, &r));
    print_message("%s: %.*s", program, (int)r.out.n, r.out.p);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out.p, " 0 wrong"));
}
