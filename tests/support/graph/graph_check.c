#include "tests/support/graph/graph_check.h"
#include "compiler/pass/pass.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/graph/graph_device.h"
#include "tests/support/kiln_test.h"
#include "tests/support/graph/network_open.h"
#include "tests/support/graph/random_layout.h"

const char *graph_outcome_name(graph_outcome o) {
    static const char *const name[] = {"right", "wrong", "refused", "broken"};
    return name[o];
}

const char *graph_way_text(kiln_arena *a, const graph_way *w) {
    return kiln_format(
        a, "%s %s%s%s%s%s%s%s%s seed %" PRIu64, w->profile,
        w->is_strict ? "strict" : "fast", w->is_optimized ? "" : ", no passes",
        w->is_fused ? "" : ", no fusion",
        w->random_configs ? ", random configurations" : "",
        w->random_layouts ? ", random layouts" : "", w->is_searched ? ", searched" : "",
        w->chooser != NULL ? ", by " : "", w->chooser != NULL ? w->chooser : "",
        w->seed);
}

const char *graph_profile_at(int i) {
    static const char *name[32];
    static int n = -1;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_profile machine;
    char missing[128];
    if (n < 0) {
        n = 0;
        kiln_assert_status_ok(kiln_profile_detect(a, &machine, &err), &err);
        for (int k = 0; kiln_profile_at(k) != NULL; k++)
            if (kiln_profile_runs_on(kiln_profile_at(k), &machine, missing))
                name[n++] = kiln_profile_at(k)->name;
            else
                print_message("profile '%s' does not run here: %s\n",
                              kiln_profile_at(k)->name, missing);
    }
    return i < n ? name[i] : NULL;
}

/* ---- random choices -------------------------------------------------------------- */

static const kiln_template *draw_template(kiln_rng *rng, const kiln_workload *w,
                                          const kiln_profile *p) {
    const kiln_template *fits[32];
    int n = 0;
    for (int i = 0; kiln_template_at(i) != NULL && n < 32; i++)
        if (kiln_template_fits(kiln_template_at(i), w, p))
            fits[n++] = kiln_template_at(i);
    return n > 0 ? fits[kiln_rng_range(rng, 0, n - 1)] : NULL;
}

/* Who advises at random. */
typedef struct adviser {
    uint64_t seed;
    bool is_searched;
} adviser;

/* A configuration that makes a schedule, for a search several, each at a cost; after
 * some that do not, none: the rule. One work is answered in the same way each time, as
 * it would be by a database. */
static kiln_status advise(void *user, kiln_arena *a, const kiln_op_work *w,
                          const kiln_profile *p, kiln_answers *out, kiln_err *err) {
    enum { TRIES = 6 };
    kiln_rng rng;
    const adviser *is = user;
    kiln_rng_init(&rng, is->seed ^ kiln_hash64(w->key.p, w->key.n, 0));
    for (int i = 0; i < TRIES; i++) {
        const kiln_template *t = draw_template(&rng, &w->workload, p);
        kiln_space space;
        kiln_scheduled s;
        kiln_buf text;
        if (t == NULL)
            return KILN_OK;
        kiln_space_init(&space, a);
        KILN_TRY(t->space(&w->workload, p, &space, err));
        const kiln_config c = kiln_config_random(&space, &rng);
        kiln_err refusal = {.status = KILN_OK};
        if (kiln_template_apply(a, t, &w->workload, p, &space, &c, &s, &refusal) !=
            KILN_OK)
            continue;
        kiln_buf_init(&text, a);
        kiln_config_json(&text, t, &space, &c);
        kiln_answer known = {.tmpl = t->name, .origin = KILN_ORIGIN_TUNED};
        KILN_TRY(kiln_json_parse(a, kiln_buf_str(&text), "advice", &known.config, err));
        if (is->is_searched) {
            known.ns = (double)kiln_rng_range(&rng, 1, 100) * 1000;
            known.layouts = kiln_work_layouts(a, &w->workload, p, t, &space, &c);
        }
        kiln_vec_push(a, out, known);
        if (!is->is_searched)
            return KILN_OK;
    }
    return KILN_OK;
}

/* Blocks that would waste more than a few times a value's bytes are not drawn. */
static void relayout(void *user, const kiln_type *t, kiln_layout *layout) {
    kiln_rng *rng = user;
    kiln_type other = *t;
    other.layout = random_layout(rng, t->rank);
    if (kiln_rng_range(rng, 0, 3) > 0 &&
        kiln_type_stored_elems(&other) <= 6 * kiln_type_elems(t) + 64)
        *layout = other.layout;
}

/* ---- running --------------------------------------------------------------------- */

/* Memory that holds NaN: what reads an element, or a tail lane, that nobody wrote is
 * found. */
static void *poison(void *arena, size_t bytes) {
    unsigned char *block = kiln_arena_alloc_raw(arena, bytes + 64);
    memset(block, 0xFF, bytes);
    return block;
}

static void keep_block(void *arena, void *block) {
    (void)arena;
    (void)block;
}

typedef struct check {
    kiln_arena arena;
    const kiln_graph *g;
    graph_values *known;
    const graph_way *way;
    double amplification;
    graph_verdict *out;
} check;

static void say(check *c, graph_outcome outcome, const char *text) {
    c->out->outcome = outcome;
    snprintf(c->out->text, sizeof c->out->text, "%.*s", GRAPH_TEXT - 1, text);
}

/* Floats of another run, so that nothing of it passes for the next one's; integers may
 * be indices and stay. */
static const void *other_input(check *c, const kiln_value *x, const void *data) {
    return kiln_dtype_is_float(x->type.dtype)
               ? kiln_ref_random(&c->arena, &x->type, 977 + c->way->seed).data
               : data;
}

static bool run(check *c, kiln_session *s, bool is_other) {
    for (size_t i = 0; i < c->g->inputs.n; i++) {
        const kiln_value *x = c->g->inputs.v[i];
        const void *data = graph_values_get(c->known, x)->run[0].data;
        if (kiln_session_set_input(s, (int)i,
                                   is_other ? other_input(c, x, data) : data) != 0)
            return say(c, GRAPH_WRONG, kiln_session_error(s)), false;
    }
    if (kiln_session_run(s) != 0)
        return say(c, GRAPH_WRONG, kiln_session_error(s)), false;
    return true;
}

static bool compare(check *c, const void *const *got, int n_threads) {
    for (size_t i = 0; i < c->g->outputs.n; i++) {
        const kiln_value *y = c->g->outputs.v[i];
        const graph_diff d = graph_value_compare(graph_values_get(c->known, y), got[i],
                                                 c->amplification);
        c->out->n_compared += d.n_compared;
        c->out->n_loose += d.n_loose;
        c->out->worst = d.worst > c->out->worst ? d.worst : c->out->worst;
        if (d.n_bad == 0)
            continue;
        say(c, GRAPH_WRONG,
            kiln_format(
                &c->arena,
                "output '%s' %s, %d threads: %" PRId64 " of %" PRId64
                " differ; element %" PRId64 " must be %.9g within %.3g, is %.9g",
                c->g->output_names.v[i], kiln_type_text(&c->arena, &y->type), n_threads,
                d.n_bad, d.n_compared, d.worst_index, d.want, d.allowed, d.got));
        return false;
    }
    return true;
}

static bool run_threads(check *c, kiln_model *m, int n_threads) {
    char text[KILN_ERROR_TEXT] = "";
    const kiln_session_options o = {.n_threads = n_threads};
    kiln_session *s = kiln_session_open(m, &o, text);
    if (s == NULL)
        return say(c, GRAPH_WRONG, text), false;
    c->out->n_runs++;
    bool ok = run(c, s, true) && run(c, s, false);
    const void **got = kiln_array(&c->arena, const void *, c->g->outputs.n);
    for (size_t i = 0; i < c->g->outputs.n && ok; i++)
        got[i] = kiln_session_output(s, (int)i);
    ok = ok && compare(c, got, n_threads);
    kiln_session_close(s);
    return ok;
}

/* In this process. */
static kiln_status run_here(check *c, const kiln_network *n, kiln_err *err) {
    const kiln_allocator poisoned = {poison, keep_block, &c->arena};
    const kiln_model_options memory = {.allocator = &poisoned};
    kiln_model *m = NULL;
    KILN_TRY(kiln_test_network_open(&c->arena, n, &memory, &m, err));
    for (int n_threads = 1; n_threads <= 2; n_threads++)
        if (!run_threads(c, m, n_threads))
            break;
    kiln_model_close(m);
    return KILN_OK;
}

/* By an emulator: in a process of its own, once. */
static kiln_status run_there(check *c, const kiln_network *n, kiln_err *err) {
    const kiln_device *device = NULL;
    kiln_device_package package;
    const kiln_device_job job = {.n_threads = 1 + (int)(c->way->seed % 2)};
    const size_t n_in = c->g->inputs.n, n_out = c->g->outputs.n;
    kiln_tensor *in = kiln_array(&c->arena, kiln_tensor, n_in);
    kiln_tensor *out = kiln_array(&c->arena, kiln_tensor, n_out);
    const void **got = kiln_array(&c->arena, const void *, n_out);
    KILN_TRY(kiln_device_find_for(&c->arena, NULL, n->profile, &device, err));
    KILN_TRY(graph_device_package(&c->arena, n, &package, err));
    for (size_t i = 0; i < n_in; i++)
        in[i] = graph_values_get(c->known, c->g->inputs.v[i])->run[0];
    KILN_TRY(
        kiln_device_run(&c->arena, device, &package, &job, in, n_in, out, NULL, err));
    for (size_t i = 0; i < n_out; i++)
        got[i] = out[i].data;
    c->out->n_runs++;
    (void)compare(c, got, job.n_threads);
    return KILN_OK;
}

/* Some operators are the passes' work alone. */
static bool needs_passes(const kiln_graph *g) {
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.v[i]->op->types_only)
            return true;
    return false;
}

static kiln_status compile(check *c, kiln_network *n, kiln_err *err) {
    kiln_profile *p = kiln_new(&c->arena, kiln_profile);
    kiln_rng *layouts = kiln_new(&c->arena, kiln_rng);
    adviser *is = kiln_new(&c->arena, adviser);
    kiln_graph *copy = kiln_graph_clone(&c->arena, c->g);
    *is = (adviser){c->way->seed, c->way->is_searched};
    kiln_rng_init(layouts, c->way->seed + 1);
    const kiln_oracle oracle = {advise, is};
    const kiln_choose_options choose = {.oracle =
                                            c->way->random_configs ? &oracle : NULL};
    const kiln_network_options o = {
        .no_fusion = !c->way->is_fused,
        .choose = &choose,
        .chooser = c->way->is_searched ? &kiln_net_chooser_search
                   : c->way->chooser != NULL
                       ? kiln_net_chooser_find(kiln_str_from(c->way->chooser))
                       : NULL,
        .check_text = c->way->is_searched || c->way->chooser != NULL,
        .relayout = c->way->random_layouts ? relayout : NULL,
        .user = layouts};
    const kiln_pass_options passes = {.verify = true};
    KILN_TRY(kiln_profile_find(&c->arena, c->way->profile, p, err));
    if (kiln_arch_of(p->arch)->kind == KILN_TARGET_GPU) {
        kiln_profile host;
        KILN_TRY(kiln_profile_detect(&c->arena, &host, err));
        KILN_TRY(kiln_profile_beside(&c->arena, &host, p, p, err));
    }
    p->numerics = c->way->is_strict ? KILN_NUMERICS_STRICT : KILN_NUMERICS_FAST;
    if (c->way->is_optimized || needs_passes(copy))
        KILN_TRY(kiln_graph_optimize(copy, &passes, err));
    return kiln_network_compile(&c->arena, copy, p, &o, n, err);
}

void graph_check(const kiln_graph *g, graph_values *known, const graph_way *w,
                 graph_verdict *out) {
    check c = {.g = g, .known = known, .way = w, .amplification = 1, .out = out};
    kiln_network n;
    kiln_err err = {.status = KILN_OK};
    kiln_status st = compile(&c, &n, &err);
    if (st == KILN_OK) {
        out->n_conversions += n.n_conversions;
        for (size_t i = 0; i < n.kernel.n; i++)
            if (strcmp(n.kernel.v[i].tmpl, kiln_template_conv_winograd.name) == 0)
                c.amplification = 10;
        st = kiln_runs_here(n.profile, NULL) == KILN_OK ? run_here(&c, &n, &err)
                                                        : run_there(&c, &n, &err);
    }
    if (st != KILN_OK)
        say(&c, GRAPH_REFUSED, err.text);
    kiln_arena_fini(&c.arena);
}

/* ---- children -------------------------------------------------------------------- */

typedef struct child {
    void (*fn)(void *arg, graph_verdict *out);
    void *arg;
    int limit_s;
    FILE *result;
} child;

/* What asks for more and more memory ends itself, before the machine ends others. Where
 * sanitizers map terabytes for their own books there is no such limit. */
static void limit_memory(void) {
    enum { LIMIT_GIB = 4 };
    const rlim_t bytes = (rlim_t)LIMIT_GIB << 30;
    const struct rlimit limit = {bytes, bytes};
    if (!kiln_test_is_sanitized())
        (void)setrlimit(RLIMIT_AS, &limit);
}

static void in_child(void *arg) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const child *c = arg;
    graph_verdict v = {.outcome = GRAPH_RIGHT};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_DFL); /* cmocka would go on with other tests */
    alarm((unsigned)c->limit_s);
    limit_memory();
    c->fn(c->arg, &v);
    fwrite(&v, sizeof v, 1, c->result);
    fflush(c->result);
}

void graph_in_child(void (*fn)(void *arg, graph_verdict *out), void *arg, int limit_s,
                    graph_verdict *out) {
    child c = {fn, arg, limit_s, tmpfile()};
    kiln_test_death death;
    assert_non_null(c.result);
    kiln_test_in_child(in_child, &c, &death);
    rewind(c.result);
    if (death.exit_code != 0 || fread(out, sizeof *out, 1, c.result) != 1) {
        *out = (graph_verdict){.outcome = GRAPH_BROKEN};
        if (death.signal == SIGALRM)
            snprintf(out->text, sizeof out->text, "it took more than %d seconds",
                     limit_s);
        else
            snprintf(out->text, sizeof out->text, "signal %d, exit code %d: %.900s",
                     death.signal, death.exit_code, death.stderr_text);
    }
    fclose(c.result);
}
