/* What templates guess for NVIDIA's GPUs, as PTX: how much of the hottest block without a
 * branch is multiply-adds, nothing is in local memory, and ptxas spills no register. */
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/ptxas.h"
#include "tests/support/random/random_conv.h"
#include "tests/support/kernel/template_check.h"

#include <string.h>

typedef struct row {
    const char *name;
    int64_t size, in, out; /* a convolution of 3 x 3; in 0: a product of matrices */
    int percent;           /* of the hottest block, at least */
} row;

/* TVM (OSDI'18), table 2. */
static row rows[] = {{"C2", 56, 64, 64, 85},
                     {"C6", 28, 128, 128, 85},
                     {"C9", 14, 256, 256, 85},
                     {"C12", 7, 512, 512, 85},
                     {"matmul-1024", 1024, 0, 0, 85}};

static kiln_graph *graph_of(kiln_arena *a, const row *r) {
    kiln_graph *g = kiln_graph_new(a, "hot");
    const kiln_type t = kiln_type_make(KILN_F32, 2, (int64_t[]){r->size, r->size});
    if (r->in > 0) {
        const random_conv_shape s = {.n_spatial = 2,
                                     .batch = 1,
                                     .groups = 1,
                                     .c = r->in,
                                     .o = r->out,
                                     .in = {r->size, r->size},
                                     .kernel = {3, 3},
                                     .stride = {1, 1},
                                     .dilation = {1, 1},
                                     .pads = {1, 1, 1, 1}};
        kiln_graph_add_output(g, random_conv_of(g, &s, KILN_F32, false), "y");
        return g;
    }
    kiln_value *in[2] = {kiln_graph_add_input(g, "a", &t),
                         kiln_graph_add_input(g, "b", &t)};
    kiln_graph_add_output(g, graph_node(g, &kiln_op_matmul, in, 2), "y");
    return g;
}

typedef struct block {
    int fma, instructions;
} block;

/* Between labels and branches, that with most multiply-adds. */
static block hottest(char *text) {
    block now = {0, 0}, best = {0, 0};
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] != '\t' || strstr(line, "bra") != NULL) {
            now = (block){0, 0};
            continue;
        }
        now.instructions += line[1] != '.' && line[1] != '/';
        now.fma += strncmp(line + 1, "fma.", 4) == 0;
        best = now.fma > best.fma ? now : best;
    }
    return best;
}

/* The shortest loop around the hottest block, what is fetched in it included: lines from
 * a label to a branch back to it. */
static block loop_of(kiln_arena *a, const char *text) {
    KILN_VEC(char *) line = {0};
    block best = {0, 0};
    size_t least = SIZE_MAX;
    char *copy = kiln_str_dup(a, text);
    const int most = hottest(kiln_str_dup(a, text)).fma;
    for (char *rest = NULL, *l = strtok_r(copy, "\n", &rest); l != NULL;
         l = strtok_r(NULL, "\n", &rest))
        kiln_vec_push(a, &line, l);
    for (size_t end = 0; end < line.n; end++) {
        const char *to = strstr(line.v[end], "$L__");
        size_t from = end;
        if (to == NULL || strstr(line.v[end], "bra") == NULL)
            continue;
        const size_t n = strcspn(to, ";");
        while (from > 0 &&
               (strncmp(line.v[from], to, n) != 0 || line.v[from][n] != ':'))
            from--;
        block now = {0, 0};
        for (size_t i = from; from > 0 && i <= end; i++) {
            now.instructions +=
                line.v[i][0] == '\t' && line.v[i][1] != '.' && line.v[i][1] != '/';
            now.fma += strncmp(line.v[i], "\tfma.", 5) == 0;
        }
        if (now.fma >= most && end - from < least) {
            least = end - from;
            best = now;
        }
    }
    return best;
}

static void check_assembled(kiln_arena *a, const kiln_profile *p, const char *code) {
    static const char spill[] = " bytes spill stores",
                      none[] = ", 0 bytes spill stores";
    const char *said = ptxas_said(a, p, code);
    for (const char *used = said; (used = strstr(used, "Used ")) != NULL; used++)
        print_message("  %.*s\n", (int)strcspn(used, "\n"), used);
    for (const char *at = said; (at = strstr(at, spill)) != NULL; at++)
        if (strncmp(at - (sizeof none - sizeof spill), none, sizeof none - 1) != 0)
            fail_msg("%s", said);
}

static void check(void **state) {
    static const char *const profiles[] = {"cuda-sm70", "cuda-sm80", "cuda-sm90"};
    const row *r = *state;
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_workload w;
        kiln_space s;
        kiln_profile p;
        kiln_assert_status_ok(kiln_profile_find(&a, profiles[i], &p, &err), &err);
        kiln_assert_status_ok(kiln_workload_of(graph_of(&a, r), &w, &err), &err);
        const template_check t = {.tmpl = kiln_template_for(&w, &p), .profile = &p};
        assert_non_null(t.tmpl);
        kiln_space_init(&s, &a);
        kiln_assert_status_ok(t.tmpl->space(&w, &p, &s, &err), &err);
        const kiln_config c = t.tmpl->guess(&w, &p, &s);
        const kiln_str code = template_assembly(&a, &t, &w, &s, &c, &err);
        if (code.n == 0)
            fail_msg("%s on %s: %s", t.tmpl->name, p.name, err.text);
        const char *text = kiln_format(&a, "%.*s", (int)code.n, code.p);
        const block hot = hottest(kiln_str_dup(&a, text));
        kiln_buf config;
        kiln_buf_init(&config, &a);
        kiln_config_json(&config, t.tmpl, &s, &c);
        const block loop = loop_of(&a, text);
        print_message(
            "%s on %s: %d multiply-adds of %d instructions, of its loop %d of "
            "%d, %s\n",
            t.tmpl->name, p.name, hot.fma, hot.instructions, loop.fma,
            loop.instructions, config.p);
        assert_null(strstr(text, ".local"));
        /* Copies that may come later do. */
        assert_int_equal(strstr(text, "cp.async.c") != NULL,
                         strstr(config.p, "\"async\"") != NULL);
        assert_true(hot.fma * 100 >= hot.instructions * r->percent);
        if (ptxas_is_here())
            check_assembled(&a, &p, text);
        kiln_arena_fini(&a);
    }
    if (!ptxas_is_here())
        kiln_test_skip("no ptxas");
}

int main(void) {
    kiln_test_add_rows(check, rows);
    return kiln_test_run("hot loops as PTX");
}
