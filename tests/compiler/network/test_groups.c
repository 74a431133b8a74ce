/* Which groups a build makes: those of regions too, as often as they run. */
#include "compiler/network/groups.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static kiln_graph *parse(const char *text) {
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "test", &g, &err),
        &err);
    return g;
}

static const char steps[] =
    "graph \"g\" { input %s : f32[8,32] input %x : f32[3,8,32] input %w : f32[32,32] "
    "%last, %y = scan(%s, %x, %w) {n_state=1, n_scan=1, body=graph \"step\" { "
    "input %s : f32[8,32] input %e : f32[8,32] input %w : f32[32,32] "
    "%a = matmul(%s, %w) %n = add(%a, %e) output %n output %n }} "
    "%z = relu(%y) output %z }";

typedef struct listing {
    kiln_buf text;
    int left; /* groups until it fails */
} listing;

static kiln_status list(void *user, const kiln_graph *g, const kiln_group *group,
                        double runs, kiln_err *err) {
    listing *l = user;
    if (l->left-- == 0)
        return kiln_fail(err, KILN_ERR_LIMIT, "enough");
    kiln_buf_printf(&l->text, "%s: %gx", g->name, runs);
    for (int i = 0; i < group->n; i++)
        kiln_buf_printf(&l->text, " %s", group->node[i]->op->name);
    kiln_buf_puts(&l->text, "\n");
    return KILN_OK;
}

static void walks_through_regions(void **state) {
    (void)state;
    kiln_err err = {0};
    listing l = {.left = 9};
    kiln_buf_init(&l.text, kiln_test_arena());
    kiln_assert_status_ok(kiln_network_each_group(parse(steps), list, &l, &err), &err);
    assert_string_equal(l.text.p, "step: 3x matmul add\n"
                                  "g: 1x scan\n"
                                  "g: 1x relu\n");
}

static void ends_with_the_first_failure(void **state) {
    (void)state;
    kiln_err err = {0};
    listing l = {.left = 1};
    kiln_buf_init(&l.text, kiln_test_arena());
    kiln_assert_fails(kiln_network_each_group(parse(steps), list, &l, &err),
                      KILN_ERR_LIMIT, &err, "enough");
    assert_string_equal(l.text.p, "step: 3x matmul add\n");
}

typedef struct row {
    const char *name, *text;
    bool is_joint;
} row;

/* The concat is the last node. */
static row rows[] = {
    {"runs_of_memory",
     "graph \"g\" { input %x : f32[1,16,2] input %y : f32[1,3,2] "
     "%z = concat(%x, %y) {axis=1} output %z }",
     true},
    {"rows_that_alternate",
     "graph \"g\" { input %x : f32[2,16,2] input %y : f32[2,16,2] "
     "%z = concat(%x, %y) {axis=1} output %z }",
     false},
    {"a_part_that_begins_between",
     "graph \"g\" { input %x : f32[1,3,2] input %y : f32[1,16,2] "
     "%z = concat(%x, %y) {axis=1} output %z }",
     false},
    {"no_concat", "graph \"g\" { input %x : f32[16] %z = relu(%x) output %z }", false},
};

static void check_join(void **state) {
    const row *r = *state;
    const kiln_graph *g = parse(r->text);
    assert_int_equal(kiln_network_can_join(g->nodes.v[g->nodes.n - 1]), r->is_joint);
}

int main(void) {
    kiln_test_add("walks_through_regions", walks_through_regions, NULL);
    kiln_test_add("ends_with_the_first_failure", ends_with_the_first_failure, NULL);
    kiln_test_add_rows(check_join, rows);
    return kiln_test_run("groups");
}
