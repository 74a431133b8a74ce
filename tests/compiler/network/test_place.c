/* Steps on devices, by hand: what is copied, once; who waits for whom, and who does not.
 * Random placements are held to results by tests/pipeline/test_placed_graphs.c. */
#include "compiler/network/network_place.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct row {
    const char *name, *graph;
    const char *devices; /* a digit for each step that computes or moves */
    const char *want;    /* "@device step", in order; open steps come first */
} row;

static const char *const kinds[] = {KILN_PLACE_HOST, "host2", "npu"};

static int by_digit(void *user, const kiln_net *n, int step) {
    const char *digit = user;
    for (int i = 0; i < step; i++)
        digit +=
            n->step.v[i].kind == KILN_NET_CALL || n->step.v[i].kind == KILN_NET_COPY ||
            n->step.v[i].kind == KILN_NET_TAKE || n->step.v[i].kind == KILN_NET_PUT;
    assert_true(*digit >= '0' && *digit <= '9');
    return *digit - '0';
}

static row rows[] = {
    {"all_on_the_host",
     "graph \"g\" { input %x : f32[16] %a = exp(%x) %b = neg(%a) output %b }", "00",
     "@0 exp\n@0 neg\n"},
    {"all_elsewhere",
     "graph \"g\" { input %x : f32[16] %a = exp(%x) %b = neg(%a) output %b }", "11",
     "@1 copy x to host2\n@1 exp\n@1 neg\n@1 copy b to host\n"},
    {"there_and_back",
     "graph \"g\" { input %x : f32[16] %a = exp(%x) %b = neg(%a) %c = exp(%b) "
     "output %c }",
     "010",
     "@0 exp\n@1 wait for exp\n@1 copy a to host2\n@1 neg\n@1 copy b to host\n"
     "@0 wait for copy b to host\n@0 exp.1\n"},
    {"a_value_goes_once",
     "graph \"g\" { input %x : f32[16] %a = exp(%x) %b = neg(%a) %c = tanh(%a) "
     "%d = mul(%b, %c) output %d }",
     "0111",
     "@0 exp\n@1 wait for exp\n@1 copy a to host2\n@1 neg\n@1 tanh\n@1 mul\n"
     "@1 copy d to host\n"},
    {"by_way_of_the_host",
     "graph \"g\" { input %x : f32[16] %a = exp(%x) %b = neg(%a) %c = tanh(%a) "
     "output %b output %c }",
     "120",
     "@1 copy x to host2\n@1 exp\n@1 copy a to host\n@2 wait for copy a to host\n"
     "@2 copy a to npu\n@2 neg\n@2 copy b to host\n@0 wait for copy a to host\n"
     "@0 tanh\n"},
    {"what_does_not_meet_does_not_wait",
     "graph \"g\" { input %x : f32[16] input %y : f32[16] %a = exp(%x) %b = exp(%y) "
     "%c = neg(%a) %d = neg(%b) output %c output %d }",
     "0101",
     "@0 exp\n@1 copy y to host2\n@1 exp.1\n@0 neg\n@1 neg.1\n@1 copy d to host\n"},
    {"devices_without_work_are_left_out",
     "graph \"g\" { input %x : f32[16] %a = exp(%x) output %a }", "2",
     "@1 copy x to npu\n@1 exp\n@1 copy a to host\n"},
    {"constants_come_when_it_is_opened",
     "graph \"g\" { input %x : f32[16] const %w : f32[16] = random(1) "
     "%a = add(%x, %w) %b = mul(%a, %w) output %b }",
     "11",
     "open @1 copy w to host2\n@1 copy x to host2\n@1 add\n@1 mul\n"
     "@1 copy b to host\n"},
    {"a_reshape_is_the_same_bytes",
     "graph \"g\" { input %x : f32[16] %a = exp(%x) %r = reshape(%a) {shape=[4,4]} "
     "%b = neg(%a) %c = neg(%r) output %b output %c }",
     "011",
     "@0 exp\n@1 wait for exp\n@1 copy a to host2\n@1 neg\n@1 copy b to host\n"
     "@1 neg.1\n@1 copy c to host\n"},
    {"ahead_of_the_loop",
     "graph \"g\" { input %s : f32[16] input %x : f32[3,16] input %k : f32[16] "
     "%h = exp(%k) %n = scan(%s, %x, %h) {n_state=1, n_scan=1, body=graph \"b\" { "
     "input %s : f32[16] input %e : f32[16] input %h : f32[16] %a = mul(%e, %h) "
     "%t = add(%a, %s) output %t }} output %n }",
     "0001101",
     "@0 exp\n@0 copy n\n@1 wait for exp\n@1 copy h to host2\n@0 scan\n"
     "@0 wait for copy h to host2\n@0 wait for copy scan.body/e to host2\n@0 copy e\n"
     "@1 wait for copy e\n@1 copy scan.body/e to host2\n@1 scan.body/mul\n"
     "@1 copy scan.body/n to host2\n@1 scan.body/add\n@1 copy n\n@0 scan\n"},
    {"the_host_decides",
     "graph \"g\" { input %c : bool[] input %x : f32[16] %d = logical_not(%c) "
     "%y = if(%d, %x, %x) {then_branch=graph \"t\" { input %p : f32[16] "
     "%a = exp(%p) output %a }, else_branch=graph \"e\" { input %p : f32[16] "
     "%a = neg(%p) output %a }} output %y }",
     "110",
     "@1 copy c to host2\n@1 logical_not\n@1 copy d to host\n@0 wait for copy d to "
     "host\n"
     "@0 if\n@1 copy if.then_branch/x to host2\n@1 if.then_branch/exp\n"
     "@1 copy if.then_branch/a to host\n@0 if\n@0 if.else_branch/neg\n@0 if\n"},
};

static void put_steps(kiln_buf *out, const char *before, const kiln_net_step *step,
                      size_t n) {
    for (size_t i = 0; i < n; i++)
        kiln_buf_printf(out, "%s@%d %s\n", before, step[i].device, step[i].name);
}

static kiln_graph *parse(const char *text) {
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_assert_status_ok(
        kiln_graph_parse(kiln_test_arena(), kiln_str_from(text), "test", &g, &err),
        &err);
    return g;
}

static kiln_status compile(const char *graph, const kiln_placement *o, kiln_net *out,
                           kiln_err *err) {
    kiln_arena *a = kiln_test_arena();
    kiln_profile *p = kiln_new(a, kiln_profile);
    kiln_network_options *how = kiln_new(a, kiln_network_options);
    *how = (kiln_network_options){.no_fusion = true, .placement = o};
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx2", p, err), err);
    return kiln_compile(a, parse(graph), p, how, out, err);
}

/* Without any one of its waits it is not in order. */
static void check_waits(const kiln_net *n) {
    for (size_t i = 0; i < n->step.n; i++) {
        kiln_err err = {.status = KILN_OK};
        kiln_net less = *n;
        if (n->step.v[i].kind != KILN_NET_WAIT)
            continue;
        less.step.v =
            kiln_arena_dup(kiln_test_arena(), n->step.v, n->step.n * sizeof *n->step.v);
        less.step.v[i].kind = KILN_NET_ELSE; /* which does nothing by itself */
        kiln_assert_fails(kiln_net_check(&less, &err), KILN_ERR_BUG, &err,
                          "does not wait for step");
    }
}

static void places(void **state) {
    const row *r = *state;
    const kiln_placement o = {kinds, 3, by_digit, (void *)(uintptr_t)r->devices};
    kiln_err err = {.status = KILN_OK};
    kiln_net n;
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_assert_status_ok(compile(r->graph, &o, &n, &err), &err);
    put_steps(&text, "open ", n.open.v, n.open.n);
    put_steps(&text, "", n.step.v, n.step.n);
    assert_string_equal(text.p, r->want);
    check_waits(&n);
}

/* ---- rules ------------------------------------------------------------------------ */

typedef struct rules_row {
    const char *name;
    const char *rule[3];
    size_t n;
    const char *want; /* kinds and devices of exp, neg, exp; or what is refused */
    bool is_refused;
} rules_row;

static rules_row rules[] = {
    {"none", {NULL}, 0, "host 000", false},
    {"an_operator", {"exp=npu"}, 1, "host npu 101", false},
    {"the_last_counts",
     {"all=host2", "exp=npu", "neg=host"},
     3,
     "host host2 npu 202",
     false},
    {"random", {"random:1=npu"}, 1, "host npu *", false},
    {"no_device", {"exp"}, 1, "must be OPERATOR=DEVICE, is 'exp'", true},
    {"no_kind", {"exp="}, 1, "letters, digits", true},
    {"a_strange_kind", {"exp=a/b"}, 1, "is 'a/b'", true},
    {"no_operator", {"expo=npu"}, 1, "'expo' is no operator", true},
    {"no_seed", {"random:x=npu"}, 1, "'random:x' is no operator", true},
};

static void reads_rules(void **state) {
    const rules_row *r = *state;
    kiln_err err = {.status = KILN_OK};
    kiln_placement o;
    kiln_net n;
    kiln_buf text;
    const kiln_status st =
        kiln_place_by_rules(kiln_test_arena(), r->rule, r->n, &o, &err);
    if (r->is_refused) {
        kiln_assert_fails(st, KILN_ERR_ARG, &err, r->want);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_assert_status_ok(
        compile("graph \"g\" { input %x : f32[16] %a = exp(%x) %b = neg(%a) "
                "%c = exp(%b) output %c }",
                NULL, &n, &err),
        &err);
    kiln_buf_init(&text, kiln_test_arena());
    for (int i = 0; i < o.n_devices; i++)
        kiln_buf_printf(&text, "%s ", o.kind[i]);
    for (int i = 0; i < 3; i++) {
        const int device = o.where(o.user, &n, i);
        assert_in_range(device, 0, o.n_devices - 1);
        kiln_buf_printf(&text, "%d", device);
    }
    const size_t all = strlen(r->want);
    const size_t same = r->want[all - 1] == '*' ? all - 1 : all + 1;
    assert_int_equal(strncmp(text.p, r->want, same), 0);
}

static int outside(void *user, const kiln_net *n, int step) {
    (void)user;
    (void)n;
    return 3 + step;
}

static void placements_that_cannot_be_are_refused(void **state) {
    static const char *const no_host[] = {"npu", "host"};
    static const struct {
        kiln_placement o;
        const char *want;
    } bad[] = {{{kinds, 3, outside, NULL}, "step 'exp' is placed on device 3"},
               {{kinds, 0, outside, NULL}, "1 to 8 devices, is for 0"},
               {{no_host, 2, outside, NULL}, "device 0 and no other must be 'host'"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        kiln_err err = {.status = KILN_OK};
        kiln_net n;
        kiln_assert_fails(
            compile("graph \"g\" { input %x : f32[16] %a = exp(%x) output %a }",
                    &bad[i].o, &n, &err),
            KILN_ERR_ARG, &err, bad[i].want);
    }
}

int main(void) {
    kiln_test_add_rows(places, rows);
    kiln_test_add_rows(reads_rules, rules);
    kiln_test_add("placements_that_cannot_be_are_refused",
                  placements_that_cannot_be_are_refused, NULL);
    return kiln_test_run("place");
}
