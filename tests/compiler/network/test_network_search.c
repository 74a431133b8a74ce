/* The chooser that searches: what it expects is never more than of greedy choices, nor
 * than of any combination of what the oracle knows; and lay_out follows it. */
#include "compiler/network/wishes.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char chain[] = "graph \"chain\" { input %x : f32[1,32,14,14] "
                            "const %u : f32[64,32,3,3] = random(1) "
                            "const %v : f32[48,64,3,3] = random(2) "
                            "const %w : f32[32,48,3,3] = random(3) "
                            "%a = conv(%x, %u) {pads=[1,1,1,1]} "
                            "%b = conv(%a, %v) {pads=[1,1,1,1]} "
                            "%c = conv(%b, %w) {pads=[1,1,1,1]} "
                            "output %c \"y\" }";
enum { N_CONVS = 3, N_BLOCKS = 2, N_PAIRS = N_BLOCKS * N_BLOCKS };
static const int64_t blocks[N_BLOCKS] = {8, 16};
static const int64_t channels[N_CONVS + 1] = {32, 64, 48, 32};

/* ---- an oracle ------------------------------------------------------------------- */

typedef struct teller {
    uint64_t seed;
    double conversion; /* times what conversions cost */
    const char *
        only; /* a pair that is cheap, all else is dear: "8 16", of ic and oc; NULL: random */
} teller;

static double drawn(const teller *t, const char *what) {
    return 1000 * (1 + (double)(kiln_hash64(what, strlen(what), t->seed) % 1000) / 10);
}

static double conv_ns(const teller *t, int64_t in, int64_t out, int64_t ic,
                      int64_t oc) {
    char pair[64];
    snprintf(pair, sizeof pair, "%d %d", (int)ic, (int)oc);
    if (t->only != NULL)
        return strcmp(pair, t->only) == 0 ? 1000 : 90000;
    snprintf(pair, sizeof pair, "%d:%d %d:%d", (int)in, (int)ic, (int)out, (int)oc);
    return drawn(t, pair);
}

static double conversion_ns(const teller *t, const kiln_type *from,
                            const kiln_type *to) {
    kiln_arena a = {0};
    const double ns =
        t->conversion * drawn(t, kiln_format(&a, "%s;%s;", kiln_type_text(&a, from),
                                             kiln_type_text(&a, to)));
    kiln_arena_fini(&a);
    return ns;
}

static int64_t block_of(const kiln_type *t) {
    return t->layout.n_blocks > 0 ? t->layout.block[0].size : 1;
}

static void tell_way(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                     const kiln_template *t, const int64_t *knob, double ns,
                     kiln_answers *out) {
    kiln_space s;
    kiln_buf text;
    kiln_err err = {.status = KILN_OK};
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t->space(&w->workload, p, &s, &err), &err);
    kiln_config c = t->guess(&w->workload, p, &s);
    for (int k = 0; k < 2; k++)
        kiln_config_set(&s, &c, k, &knob[k]); /* oc_block, ic_block; from, to */
    kiln_answer x = {.tmpl = t->name, .origin = KILN_ORIGIN_TUNED, .ns = ns};
    x.layouts = kiln_work_layouts(a, &w->workload, p, t, &s, &c);
    kiln_buf_init(&text, a);
    kiln_config_json(&text, t, &s, &c);
    kiln_assert_status_ok(
        kiln_json_parse(a, kiln_buf_str(&text), "test", &x.config, &err), &err);
    kiln_vec_push(a, out, x);
}

static kiln_status tell(void *user, kiln_arena *a, const kiln_op_work *w,
                        const kiln_profile *p, kiln_answers *out, kiln_err *err) {
    const teller *t = user;
    const kiln_node *n = w->workload.anchor;
    (void)err;
    if (n->op == &kiln_op_identity) {
        const kiln_type *x = &n->in[0]->type, *y = &n->out[0]->type;
        const int64_t knob[2] = {block_of(x), block_of(y)}; /* from, to */
        tell_way(a, w, p, &kiln_template_convert, knob, conversion_ns(t, x, y), out);
    }
    for (int i = 0; n->op == &kiln_op_conv && i < N_PAIRS; i++) {
        const int64_t knob[2] = {blocks[i % N_BLOCKS], blocks[i / N_BLOCKS]};
        tell_way(
            a, w, p, &kiln_template_conv_direct, knob,
            conv_ns(t, n->in[0]->type.dim[1], n->out[0]->type.dim[1], knob[1], knob[0]),
            out);
    }
    return KILN_OK;
}

/* ---- compiling ------------------------------------------------------------------- */

static void compile(kiln_arena *a, const char *text, const kiln_net_chooser *chooser,
                    kiln_choose_options *choose, kiln_net *out) {
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_profile *p = kiln_new(a, kiln_profile);
    kiln_network_options *o = kiln_new(a, kiln_network_options);
    *o = (kiln_network_options){
        .choose = choose, .chooser = chooser, .check_text = true};
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "test", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", p, &err), &err);
    kiln_graph_renumber(g);
    kiln_assert_status_ok(kiln_compile(a, g, p, o, out, &err), &err);
}

static kiln_type type_of(int at, int64_t block) {
    const int64_t dim[] = {1, channels[at], 14, 14};
    kiln_type t = kiln_type_make(KILN_F32, 4, dim);
    if (block > 1)
        t.layout = (kiln_layout){.n_blocks = 1,
                                 .block = {{.axis = 1, .size = (int32_t)block}}};
    return t;
}

/* Of all combinations of pairs, with the conversions between them. */
static double least_of_all(const teller *t) {
    double least = HUGE_VAL;
    for (int all = 0; all < N_PAIRS * N_PAIRS * N_PAIRS; all++) {
        double sum = 0;
        int64_t lies = 1;
        for (int k = 0, rest = all; k < N_CONVS; k++, rest /= N_PAIRS) {
            const int64_t ic = blocks[rest % N_BLOCKS],
                          oc = blocks[rest / N_BLOCKS % N_BLOCKS];
            const kiln_type from = type_of(k, lies), to = type_of(k, ic);
            sum += lies == ic ? 0 : conversion_ns(t, &from, &to);
            sum += conv_ns(t, channels[k], channels[k + 1], ic, oc);
            lies = oc;
        }
        const kiln_type from = type_of(N_CONVS, lies), plain = type_of(N_CONVS, 1);
        least = fmin(least, sum + conversion_ns(t, &from, &plain));
    }
    return least;
}

static void no_combination_is_cheaper(void **state) {
    (void)state;
    const uint64_t seed = kiln_test_seed();
    int n_changed = 0;
    for (uint64_t i = 0; i < 24; i++) {
        kiln_arena a = {0};
        kiln_net n;
        teller t = {.seed = seed + i, .conversion = i % 3 == 0 ? 0.05 : 0.3};
        const kiln_oracle oracle = {tell, &t};
        kiln_choose_options choose = {.oracle = &oracle};
        compile(&a, chain, &kiln_net_chooser_search, &choose, &n);
        const kiln_net_forecast *f = n.forecast;
        assert_non_null(f);
        const double least = least_of_all(&t);
        if (f->search_ns > least * (1 + 1e-9) || f->chosen_ns > f->greedy_ns ||
            f->chosen_ns > 1.02 * f->search_ns)
            fail_msg("seed %llu: greedy %g, search %g, chosen %g, least of what is "
                     "known %g",
                     (unsigned long long)t.seed, f->greedy_ns, f->search_ns,
                     f->chosen_ns, least);
        assert_true(f->is_least);
        n_changed += f->n_changed > 0;
        kiln_arena_fini(&a);
    }
    print_message("%d of 24 differ from greedy\n", n_changed);
    assert_true(n_changed > 12);
}

/* ---- by hand --------------------------------------------------------------------- */

static int count_conversions(double conversion, const char *only, kiln_buf *text) {
    kiln_net n;
    teller t = {.seed = 1, .conversion = conversion, .only = only};
    const kiln_oracle oracle = {tell, &t};
    kiln_choose_options choose = {.oracle = &oracle};
    compile(text->arena, chain, &kiln_net_chooser_search, &choose, &n);
    kiln_net_forecast_text(text, n.forecast, n.n_conversions);
    return n.n_conversions;
}

/* Kernels that read 8c and make 16c: worth a conversion before each of them, and one
 * at the end, where those are cheap; else the last one alone is left. */
static void conversions_are_paid_where_it_is_worth_it(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_buf cheap, dear;
    kiln_buf_init(&cheap, &a);
    kiln_buf_init(&dear, &a);
    assert_int_equal(count_conversions(0.01, "8 16", &cheap), 4);
    assert_int_equal(count_conversions(1000, "8 16", &dear), 1);
    assert_non_null(strstr(cheap.p, "layouts: search expects "));
    assert_non_null(strstr(cheap.p, "(4 conversions)"));
    kiln_arena_fini(&a);
}

/* Nobody knows anything, and greedy is as good: its choices stay, its text too. */
static void greedy_stays_where_nothing_is_gained(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_net n, greedy;
    kiln_buf text, want;
    kiln_choose_options choose = {.tmpl = NULL};
    compile(&a, chain, &kiln_net_chooser_search, &choose, &n);
    compile(&a, chain, &kiln_net_chooser_greedy, &choose, &greedy);
    kiln_buf_init(&text, &a);
    kiln_buf_init(&want, &a);
    kiln_net_print(&text, &n);
    kiln_net_print(&want, &greedy);
    kiln_assert_text_equal(kiln_buf_str(&text), kiln_buf_str(&want));
    assert_int_equal(n.forecast->n_changed, 0);
    assert_true(n.forecast->chosen_ns == n.forecast->greedy_ns);
    assert_null(greedy.forecast);
    kiln_arena_fini(&a);
}

static void what_a_file_says_is_meant(void **state) {
    static const char file[] =
        "[{\"op\": \"conv\", \"template\": \"conv_direct\", \"config\": {"
        "\"oc_block\": 8, \"ic_block\": 4, \"tile\": [2, 7, 2], \"oc_chunk\": 4, "
        "\"oh_chunk\": 14, \"order\": \"channels\", \"inner\": \"channels\", "
        "\"reduce\": \"channels\", \"unroll\": 1, \"pad\": \"chunk\"}}]";
    (void)state;
    kiln_arena a = {0};
    kiln_net n;
    kiln_err err = {.status = KILN_OK};
    teller t = {.seed = 1, .conversion = 0.01, .only = "16 16"};
    bool is_used[1] = {false};
    const kiln_oracle oracle = {tell, &t};
    kiln_choose_options choose = {.oracle = &oracle, .is_used = is_used};
    kiln_assert_status_ok(
        kiln_json_parse(&a, kiln_str_from(file), "file", &choose.file, &err), &err);
    compile(&a, chain, &kiln_net_chooser_search, &choose, &n);
    assert_true(is_used[0]);
    bool is_there = false;
    for (size_t i = 0; i < n.kernel.n; i++)
        is_there |= n.kernel.v[i].origin == KILN_ORIGIN_FILE &&
                    strstr(n.kernel.v[i].config, "\"ic_block\": 4") != NULL;
    assert_true(is_there);
    kiln_arena_fini(&a);
}

/* ---- wishes ---------------------------------------------------------------------- */

/* Knows of another teller's answers those that were measured. */
typedef struct learner {
    kiln_arena arena;
    teller all;
    kiln_map known; /* workload and layouts */
} learner;

static const char *name_of(kiln_arena *a, kiln_str workload, const char *layouts) {
    return kiln_format(a, "%.*s|%s", KILN_STR_ARG(workload), layouts);
}

static bool is_rule(kiln_arena *a, const kiln_op_work *w, const kiln_profile *p,
                    const kiln_answer *x) {
    const kiln_template *t = kiln_template_find(kiln_str_from(x->tmpl));
    kiln_space s;
    kiln_err err = {.status = KILN_OK};
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t->space(&w->workload, p, &s, &err), &err);
    const kiln_config c = t->guess(&w->workload, p, &s);
    return w->workload.anchor->op == &kiln_op_conv &&
           strcmp(kiln_work_layouts(a, &w->workload, p, t, &s, &c), x->layouts) == 0;
}

static kiln_status tell_known(void *user, kiln_arena *a, const kiln_op_work *w,
                              const kiln_profile *p, kiln_answers *out, kiln_err *err) {
    learner *l = user;
    kiln_answers all = {.n = 0};
    KILN_TRY(tell(&l->all, a, w, p, &all, err));
    for (size_t i = 0; i < all.n; i++)
        if (is_rule(a, w, p, &all.v[i]) ||
            kiln_map_has(&l->known,
                         kiln_str_from(name_of(a, w->key, all.v[i].layouts))))
            kiln_vec_push(a, out, all.v[i]);
    return KILN_OK;
}

static const char *layouts_of(kiln_arena *a, const kiln_net_wish *x,
                              const kiln_profile *p) {
    kiln_graph *g = NULL;
    kiln_op_work w;
    kiln_space s;
    kiln_config c;
    const kiln_json *json = NULL;
    kiln_err err = {.status = KILN_OK};
    const kiln_template *t = kiln_template_find(kiln_str_from(x->tmpl));
    kiln_assert_status_ok(kiln_workload_read(a, kiln_str_from(x->workload), &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_op_work_of(a, g->name, g, &w, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t->space(&w.workload, p, &s, &err), &err);
    kiln_assert_status_ok(
        kiln_json_parse(a, kiln_str_from(x->config), "wish", &json, &err), &err);
    kiln_assert_status_ok(kiln_config_parse(json, t, &s, &c, &err), &err);
    return kiln_work_layouts(a, &w.workload, p, t, &s, &c);
}

/* Rounds of asking and measuring until nothing is wished for; how many. */
static int learn(learner *l, int *n_learnt) {
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_profile p;
    kiln_arena *a = &l->arena;
    const kiln_oracle oracle = {tell_known, l};
    const kiln_choose_options choose = {.oracle = &oracle};
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(chain), "test", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &p, &err), &err);
    kiln_graph_renumber(g);
    for (int round = 1; round < 40; round++) {
        kiln_net_wishes w;
        size_t n_new = 0;
        kiln_assert_status_ok(kiln_network_wishes(a, g, &p, &choose, &w, &err), &err);
        assert_true(w.search_ns <= w.greedy_ns * (1 + 1e-9) || w.list.n > 0);
        for (size_t i = 0; i < w.list.n; i++) {
            const kiln_net_wish *x = &w.list.v[i];
            const char *name =
                name_of(a, kiln_str_from(x->workload), layouts_of(a, x, &p));
            n_new += !kiln_map_has(&l->known, kiln_str_from(name));
            kiln_map_set(a, &l->known, kiln_str_from(name), l);
        }
        *n_learnt += (int)n_new;
        if (w.list.n == 0 || n_new == 0)
            return round;
    }
    fail_msg("it wishes without end");
    return 0;
}

/* What looks best is measured, the rest is not: it comes to an end; and what is chosen
 * then was measured, and is no slower than greedy. */
static void wishes_come_to_an_end(void **state) {
    (void)state;
    const uint64_t seed = kiln_test_seed();
    int n_learnt = 0, n_rounds = 0, n_changed = 0;
    for (uint64_t i = 0; i < 8; i++) {
        learner l = {.all = {.seed = seed + i, .conversion = 0.1}};
        const kiln_oracle oracle = {tell_known, &l};
        kiln_choose_options choose = {.oracle = &oracle};
        kiln_net n;
        n_rounds += learn(&l, &n_learnt);
        compile(&l.arena, chain, &kiln_net_chooser_search, &choose, &n);
        assert_true(n.forecast->chosen_ns <= n.forecast->greedy_ns);
        n_changed += n.forecast->n_changed > 0;
        kiln_arena_fini(&l.arena);
    }
    print_message("%d rounds measured %d ways and conversions in 8 networks, %d differ "
                  "from greedy\n",
                  n_rounds, n_learnt, n_changed);
    assert_true(n_changed > 0 && n_learnt > 0);
}

/* Between convolutions that are faster in blocks of 8 a pool would be in blocks of 8
 * too: it and greedy's are wished for, once, until both are known. */
static const char pooled[] = "graph \"pooled\" { input %x : f32[1,32,14,14] "
                             "const %u : f32[64,32,3,3] = random(1) "
                             "const %v : f32[48,64,3,3] = random(2) "
                             "%a = conv(%x, %u) {pads=[1,1,1,1]} "
                             "%b = max_pool(%a) {kernel=[2,2], strides=[2,2]} "
                             "%c = conv(%b, %v) {pads=[1,1,1,1]} "
                             "output %c \"y\" }";

static kiln_status tell_pools(void *user, kiln_arena *a, const kiln_op_work *w,
                              const kiln_profile *p, kiln_answers *out, kiln_err *err) {
    for (int i = 0; w->workload.anchor->op == &kiln_op_max_pool && i < N_BLOCKS; i++) {
        const int64_t knob[3] = {blocks[i], 1, 1}; /* c_block, tile */
        tell_way(a, w, p, &kiln_template_pool, knob, 100, out);
    }
    return tell(user, a, w, p, out, err);
}

static size_t count_pools(kiln_arena *a, const kiln_oracle *oracle, bool *is_twice) {
    kiln_err err = {.status = KILN_OK};
    kiln_graph *g = NULL;
    kiln_profile p;
    kiln_net_wishes w;
    size_t n = 0;
    const kiln_choose_options choose = {.oracle = oracle};
    const char *layouts[2] = {"", ""};
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(pooled), "test", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &p, &err), &err);
    kiln_graph_renumber(g);
    kiln_assert_status_ok(kiln_network_wishes(a, g, &p, &choose, &w, &err), &err);
    for (size_t i = 0; i < w.list.n; i++)
        if (strstr(w.list.v[i].workload, "max_pool") != NULL && n < 2) {
            assert_string_equal(w.list.v[i].tmpl, "pool");
            layouts[n++] = layouts_of(a, &w.list.v[i], &p);
        }
    *is_twice = n == 2 && strcmp(layouts[0], layouts[1]) == 0;
    return n;
}

static void pools_are_wished_for(void **state) {
    (void)state;
    kiln_arena a = {0};
    bool is_twice = false;
    teller t = {.seed = 1, .conversion = 0.1, .only = "8 8"};
    const kiln_oracle convs = {tell, &t}, all = {tell_pools, &t};
    assert_int_equal(count_pools(&a, &convs, &is_twice), 2);
    assert_false(is_twice);
    assert_int_equal(count_pools(&a, &all, &is_twice), 0);
    kiln_arena_fini(&a);
}

/* Greedy's way was measured in the network and by itself, the other one by itself: it
 * counts as much slower or faster as it is beside that. */
static kiln_status tell_network(void *user, kiln_arena *a, const kiln_op_work *w,
                                const kiln_profile *p, kiln_answers *out,
                                kiln_err *err) {
    KILN_TRY(tell(user, a, w, p, out, err));
    for (size_t i = 0; i < out->n; i++) {
        kiln_answer *x = &out->v[i];
        x->distance = 1;
        if (!is_rule(a, w, p, x))
            continue;
        x->alone_ns = x->ns;
        x->alone_distance = 1;
        x->ns *= 3;
        x->distance = 0;
    }
    return KILN_OK;
}

static void ways_measured_alone_compare(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_net n;
    teller t = {.seed = 1, .conversion = 0.001, .only = "8 16"};
    const kiln_oracle oracle = {tell_network, &t};
    kiln_choose_options choose = {.oracle = &oracle};
    compile(&a, chain, &kiln_net_chooser_search, &choose, &n);
    const kiln_net_forecast *f = n.forecast;
    /* 90000 each alone, 1000 each: both three times that in the network. */
    assert_true(f->n_changed >= N_CONVS);
    assert_true(f->greedy_ns >= 3 * 90000 * N_CONVS);
    assert_true(f->chosen_ns >= 3 * 1000 * N_CONVS);
    assert_true(f->chosen_ns < 5 * 1000 * N_CONVS);
    kiln_arena_fini(&a);
}

/* The usual chooser: greedy's text where only the rules' layouts were measured, the
 * search's where others were, too. */
static void assert_same_text(kiln_arena *a, const kiln_net *n, const kiln_net *want) {
    kiln_buf x, y;
    kiln_buf_init(&x, a);
    kiln_buf_init(&y, a);
    kiln_net_print(&x, n);
    kiln_net_print(&y, want);
    kiln_assert_text_equal(kiln_buf_str(&x), kiln_buf_str(&y));
}

static void it_searches_where_other_layouts_were_measured(void **state) {
    (void)state;
    kiln_net n, want;
    learner l = {.all = {.seed = 1, .conversion = 0.01, .only = "8 16"}};
    kiln_arena *a = &l.arena;
    const kiln_oracle few = {tell_known, &l}, all = {tell, &l.all};
    kiln_choose_options choose = {.oracle = &few};
    assert_ptr_equal(kiln_net_chooser_at(0), &kiln_net_chooser_measured);
    compile(a, chain, NULL, &choose, &n);
    compile(a, chain, &kiln_net_chooser_greedy, &choose, &want);
    assert_null(n.forecast);
    assert_int_equal(n.searched.n, 0);
    assert_same_text(a, &n, &want);
    choose.oracle = &all;
    compile(a, chain, NULL, &choose, &n);
    compile(a, chain, &kiln_net_chooser_search, &choose, &want);
    assert_non_null(n.forecast);
    assert_true(n.forecast->n_changed > 0);
    assert_int_equal(n.forecast->change.n, n.forecast->n_changed);
    assert_int_equal(n.searched.n, N_CONVS);
    assert_same_text(a, &n, &want);
    kiln_arena_fini(a);
}

/* ---- regions --------------------------------------------------------------------- */

#define CHAIN                                                                          \
    "const %u : f32[64,32,3,3] = random(1) const %v : f32[48,64,3,3] = random(2) "     \
    "const %w : f32[32,48,3,3] = random(3) %a = conv(%x, %u) {pads=[1,1,1,1]} "        \
    "%b = conv(%a, %v) {pads=[1,1,1,1]} %c = conv(%b, %w) {pads=[1,1,1,1]} "

/* The chain as the body of a loop, and as a branch. */
static const struct {
    const char *text;
    double runs;
    int n_more; /* conversions at each run that the chain by itself has not */
} regions[] = {
    {"graph \"loop\" { input %s : f32[1,32,14,14] input %x : f32[5,1,32,14,14] "
     "%t, %y = scan(%s, %x) {n_state=1, n_scan=1, body=graph \"body\" { "
     "input %s : f32[1,32,14,14] input %x : f32[1,32,14,14] " CHAIN
     "output %c output %c }} output %t output %y }",
     5, 0},
    {"graph \"ways\" { input %i : bool[] input %x : f32[1,32,14,14] "
     "%y = if(%i, %x, %x) {then_branch=graph \"then\" { input %x : "
     "f32[1,32,14,14] " CHAIN
     "output %c }, else_branch=graph \"else\" { input %x : f32[1,32,14,14] "
     "output %x }} output %y }",
     1, 1},
    {"graph \"deep\" { input %i : bool[] input %s : f32[1,32,14,14] "
     "input %x : f32[5,1,32,14,14] "
     "%t, %y = scan(%s, %x, %i) {n_state=1, n_scan=1, body=graph \"body\" { "
     "input %s : f32[1,32,14,14] input %x : f32[1,32,14,14] input %i : bool[] "
     "%z = if(%i, %x, %x) {then_branch=graph \"then\" { input %x : "
     "f32[1,32,14,14] " CHAIN
     "output %c }, else_branch=graph \"else\" { input %x : f32[1,32,14,14] "
     "output %x }} output %z output %z }} output %t output %y }",
     5, 1}};

/* What is gained in a region is what is gained of the same steps outside, as often as
 * they run: copies around it are the same either way, but that another branch makes the
 * layout in which the first one ends. */
static void regions_gain_what_their_steps_do(void **state) {
    (void)state;
    const uint64_t seed = kiln_test_seed();
    for (size_t i = 0; i < 4 * sizeof regions / sizeof regions[0]; i++) {
        kiln_arena a = {0};
        kiln_net whole, n;
        const size_t at = i / 4;
        teller t = {.seed = seed + i, .conversion = 0.05};
        const kiln_oracle oracle = {tell, &t};
        kiln_choose_options choose = {.oracle = &oracle};
        compile(&a, chain, &kiln_net_chooser_search, &choose, &whole);
        compile(&a, regions[at].text, &kiln_net_chooser_search, &choose, &n);
        const double gain = whole.forecast->greedy_ns - whole.forecast->search_ns;
        const double got = n.forecast->greedy_ns - n.forecast->search_ns;
        const double more = regions[at].n_more * t.conversion * 101000;
        if (fabs(got - regions[at].runs * gain) >
            regions[at].runs * more + 1e-6 * n.forecast->greedy_ns)
            fail_msg("seed %llu: '%s' gains %g, its steps %g, %g times",
                     (unsigned long long)t.seed, n.g->name, got, gain,
                     regions[at].runs);
        assert_true(n.forecast->n_sites >= N_CONVS);
        kiln_arena_fini(&a);
    }
}

/* The usual chooser looks into regions, too. */
static void regions_are_searched_where_others_were_measured(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_net n;
    teller t = {.seed = 1, .conversion = 0.01, .only = "8 16"};
    const kiln_oracle oracle = {tell, &t};
    kiln_choose_options choose = {.oracle = &oracle};
    compile(&a, regions[0].text, NULL, &choose, &n);
    assert_non_null(n.forecast);
    assert_true(n.forecast->n_changed > 0);
    assert_true(n.searched.n >= N_CONVS);
    kiln_arena_fini(&a);
}

/* What is captured is one value inside and outside: who makes it hears of who reads it
 * five times. */
static const char captured[] =
    "graph \"captured\" { input %i : f32[1,32,14,14] input %s : f32[1,48,14,14] "
    "input %x : f32[5,1,48,14,14] const %u : f32[64,32,3,3] = random(1) "
    "%a = conv(%i, %u) {pads=[1,1,1,1]} "
    "%t, %y = scan(%s, %x, %a) {n_state=1, n_scan=1, body=graph \"body\" { "
    "input %s : f32[1,48,14,14] input %x : f32[1,48,14,14] "
    "input %a : f32[1,64,14,14] const %v : f32[48,64,3,3] = random(2) "
    "%b = conv(%a, %v) {pads=[1,1,1,1]} %n = add(%b, %x) output %n output %n }} "
    "output %t output %y }";

static kiln_status tell_reader(void *user, kiln_arena *a, const kiln_op_work *w,
                               const kiln_profile *p, kiln_answers *out,
                               kiln_err *err) {
    const kiln_node *n = w->workload.anchor;
    if (n->op != &kiln_op_conv)
        return tell(user, a, w, p, out, err);
    for (int i = 0; i < N_PAIRS; i++) {
        const int64_t knob[2] = {blocks[i % N_BLOCKS], blocks[i / N_BLOCKS]};
        const bool makes_it = n->in[0]->type.dim[1] == 32;
        /* who reads it wants blocks of 8, in which it is made a little slower */
        const double ns = knob[1] == 16              ? 90000
                          : makes_it && knob[0] == 8 ? 1300
                                                     : 1000;
        tell_way(a, w, p, &kiln_template_conv_direct, knob, ns, out);
    }
    return KILN_OK;
}

static void who_makes_hears_of_readers_in_loops(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_net n;
    teller t = {.seed = 1, .conversion = 1}; /* 1000 ns and more */
    const kiln_oracle oracle = {tell_reader, &t};
    kiln_choose_options choose = {.oracle = &oracle};
    compile(&a, captured, &kiln_net_chooser_search, &choose, &n);
    for (size_t i = 0; i < n.slot.n; i++)
        if (n.slot.v[i].value != NULL && strcmp(n.slot.v[i].value->name, "a") == 0 &&
            n.slot.v[i].value->type.dim[1] == 64)
            assert_int_equal(n.slot.v[i].layout.block[0].size, 8);
    kiln_arena_fini(&a);
}

/* What was kept of a search makes the same network without anybody who knows costs. */
static void what_was_kept_is_made_again(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_net n, again;
    kiln_graph *g = NULL;
    kiln_profile p;
    teller t = {.seed = 1, .conversion = 0.01, .only = "8 16"};
    const kiln_oracle oracle = {tell, &t};
    kiln_choose_options choose = {.oracle = &oracle};
    compile(&a, chain, &kiln_net_chooser_search, &choose, &n);
    const kiln_network_options o = {.given = n.searched.v, .n_given = n.searched.n};
    kiln_assert_status_ok(kiln_graph_parse(&a, kiln_str_from(chain), "test", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_profile_find(&a, "x86-avx512", &p, &err), &err);
    kiln_graph_renumber(g);
    kiln_assert_status_ok(kiln_compile(&a, g, &p, &o, &again, &err), &err);
    assert_int_equal(again.kernel.n, n.kernel.n);
    for (size_t i = 0; i < n.kernel.n; i++)
        assert_string_equal(again.kernel.v[i].key, n.kernel.v[i].key);
    assert_int_equal(again.n_conversions, n.n_conversions);
    kiln_arena_fini(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_combination_is_cheaper),
        cmocka_unit_test(conversions_are_paid_where_it_is_worth_it),
        cmocka_unit_test(greedy_stays_where_nothing_is_gained),
        cmocka_unit_test(what_a_file_says_is_meant),
        cmocka_unit_test(wishes_come_to_an_end),
        cmocka_unit_test(pools_are_wished_for),
        cmocka_unit_test(ways_measured_alone_compare),
        cmocka_unit_test(it_searches_where_other_layouts_were_measured),
        cmocka_unit_test(regions_gain_what_their_steps_do),
        cmocka_unit_test(regions_are_searched_where_others_were_measured),
        cmocka_unit_test(who_makes_hears_of_readers_in_loops),
        cmocka_unit_test(what_was_kept_is_made_again),
    };
    kiln_test_add_tests(tests);
    return kiln_test_run("search over layouts");
}
