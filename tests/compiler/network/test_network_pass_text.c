/* Passes of the driver by example: golden/<pass>/<case>.txt holds a graph, and the
 * executable graph when the pass has run. What computes softmax does it on a second device.
 * The text of every pass before it reads back
 * as what it was printed from. */
#include "compiler/network/executable.h"
#include "compiler/network/network_place.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct watching {
    kiln_arena *arena;
    const kiln_graph *g;
    const kiln_profile *profile;
    const char *pass; /* whose text is wanted */
    kiln_str text;
} watching;

static kiln_str print(kiln_arena *a, const kiln_net *n) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_net_print(&text, n);
    return kiln_buf_str(&text);
}

static void see(void *user, const char *pass, const kiln_net *n) {
    watching *w = user;
    kiln_err err = {0};
    kiln_net again;
    const kiln_str text = print(w->arena, n);
    kiln_assert_status_ok(
        kiln_net_parse(w->arena, w->g, w->profile, text, pass, &again, &err), &err);
    kiln_assert_text_equal(print(w->arena, &again), text);
    if (strcmp(pass, w->pass) == 0)
        w->text = text;
}

/* The pass that ".../golden/<pass>/<case>.txt" is for. */
static const char *pass_of(kiln_arena *a, const char *path) {
    const char *end = strrchr(path, '/');
    assert_non_null(end);
    const char *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    const kiln_str name = {begin, (size_t)(end - begin)};
    assert_non_null(kiln_net_pass_find(name));
    return kiln_str_dupv(a, name);
}

static void check(void **state) {
    kiln_arena a;
    kiln_test_golden golden;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_profile p;
    kiln_net n;
    kiln_arena_init(&a);
    kiln_test_golden_read(*state, &golden);
    kiln_assert_status_ok(kiln_graph_parse(&a, golden.input, *state, &g, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(&a, "x86-avx2", &p, &err), &err);
    kiln_graph_renumber(g);
    watching w = {.arena = &a, .g = g, .profile = &p, .pass = pass_of(&a, *state)};
    static const char *const rule[] = {"softmax=host2"};
    kiln_placement placement;
    kiln_assert_status_ok(kiln_place_by_rules(&a, rule, 1, &placement, &err), &err);
    const kiln_network_options o = {.print_after = "all",
                                    .print = see,
                                    .printer = &w,
                                    .pack_at_open = true,
                                    .placement = &placement};
    kiln_assert_status_ok(kiln_compile(&a, g, &p, &o, &n, &err), &err);
    kiln_test_golden_check(&golden, w.text);
    kiln_arena_fini(&a);
}

int main(void) {
    for (int i = 0; kiln_net_pass_at(i) != NULL; i++)
        kiln_test_add_golden(kiln_format(kiln_test_arena(),
                                         "tests/compiler/network/golden/%s",
                                         kiln_net_pass_at(i)->name),
                             check);
    return kiln_test_run("passes of the driver by example");
}
