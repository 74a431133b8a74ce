/* Products of halves as PTX: most of the hottest block without a branch are tensor cores'
 * instructions and what brings their operands, nothing is in local memory, and ptxas spills
 * no register. */
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"
#include "tests/support/gpu/ptxas.h"
#include "tests/support/kernel/template_check.h"

#include <string.h>

enum { SIZE = 4096 };

static kiln_str assembly(kiln_arena *a, const kiln_profile *p) {
    const kiln_template *tmpl = &kiln_template_gpu_matmul_mma;
    const kiln_type t = kiln_type_make(KILN_F16, 2, (int64_t[]){SIZE, SIZE});
    kiln_graph *g = kiln_graph_new(a, "product");
    kiln_value *in[2] = {kiln_graph_add_input(g, "a", &t),
                         kiln_graph_add_input(g, "b", &t)};
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_graph_add_output(g, graph_node(g, &kiln_op_matmul, in, 2), "y");
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_space_init(&s, a);
    assert_true(tmpl->fits(&w, p));
    kiln_assert_status_ok(tmpl->space(&w, p, &s, &err), &err);
    const kiln_config c = tmpl->guess(&w, p, &s);
    const template_check check = {.tmpl = tmpl, .profile = p};
    kiln_buf config;
    kiln_buf_init(&config, a);
    kiln_config_json(&config, tmpl, &s, &c);
    print_message("%s: %s\n", p->name, config.p);
    return template_assembly(a, &check, &w, &s, &c, &err);
}

typedef struct block {
    int mma, loads, rest;
} block;

/* Between labels and branches, that with most products. Lines that go on begin with
 * tabs. */
static block hottest(char *text) {
    block now = {0, 0, 0}, best = {0, 0, 0};
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] != '\t' || strstr(line, "bra") != NULL) {
            now = (block){0, 0, 0};
            continue;
        }
        if (strncmp(line + 1, "mma.", 4) == 0)
            now.mma++;
        else if (strncmp(line + 1, "ldmatrix.", 9) == 0)
            now.loads++;
        else
            now.rest += line[1] != '.' && line[1] != '/' && line[1] != '\t';
        best = now.mma > best.mma ? now : best;
    }
    return best;
}

static void check(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_assert_status_ok(kiln_profile_find(&a, *state, &p, &err), &err);
    const kiln_str code = assembly(&a, &p);
    assert_true(code.n > 0);
    const char *text = kiln_format(&a, "%.*s", (int)code.n, code.p);
    const block hot = hottest(kiln_str_dup(&a, text));
    print_message("%d products, %d loads of operands, %d other instructions\n", hot.mma,
                  hot.loads, hot.rest);
    assert_null(strstr(text, ".local"));
    assert_true(hot.mma >= 4 * hot.loads);
    assert_true(hot.mma >= hot.rest);
    if (ptxas_is_here()) {
        const char *said = ptxas_said(&a, &p, text), *used = strstr(said, "Used ");
        print_message("  %.*s\n", used == NULL ? 0 : (int)strcspn(used, "\n"), used);
        if (strstr(said, " 0 bytes spill stores, 0 bytes spill loads") == NULL)
            fail_msg("%s", said);
    }
    kiln_arena_fini(&a);
    if (!ptxas_is_here())
        kiln_test_skip("no ptxas");
}

int main(void) {
    static char sm80[] = "cuda-sm80", sm90[] = "cuda-sm90";
    kiln_test_add("guessed_for_sm80", check, sm80);
    kiln_test_add("guessed_for_sm90", check, sm90);
    return kiln_test_run("tensor cores as PTX");
}
