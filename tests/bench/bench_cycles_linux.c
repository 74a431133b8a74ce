/* The cycle model against measurements: convolutions of ResNet-18 and matrix products
 * of transformers, each in its rule's configuration and in random ones, alone, by one
 * thread, with parameters from memory. Prints how well the model orders the
 * configurations of each work (Kendall's tau), all points together (Spearman's rho),
 * and by which factor its cycles are wrong.
 *
 *   bench_cycles                         the table
 *   bench_cycles ops                     predicted over measured cycles of the lists of
 *                                        operators that ship and of some of every kind,
 *                                        as the rules schedule them
 *   bench_cycles rules                   what the rules say for the products, as JSON
 *   bench_cycles compare FILE [THREADS]  those of such a file beside today's rules,
 *                                        interleaved */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "compiler/network/network_kernel.h"
#include "compiler/schedule/cycles.h"
#include "pipeline/kernels/op_line.h"
#include "pipeline/machine/machine.h"
#include "runtime/loader.h"
#include "runtime/pool.h"
#include "tests/support/kiln_test.h"

enum { N_CONFIGS = 8, MAX_ARGS = 16, ROUNDS = 25, MAX_COPIES = 64, MAX_WORKS = 64 };

static const char *const table_works[] = {
    "conv c1 224 3 64 7 2",    "conv c2 56 64 64 3 1",     "conv c3 56 64 64 1 1",
    "conv c4 56 64 128 3 2",   "conv c5 56 64 128 1 2",    "conv c6 28 128 128 3 1",
    "conv c7 28 128 256 3 2",  "conv c8 28 128 256 1 2",   "conv c9 14 256 256 3 1",
    "conv c10 14 256 512 3 2", "conv c11 14 256 512 1 2",  "conv c12 7 512 512 3 1",
    "mm bert_qkv 128 768 768", "mm bert_up 128 768 3072",  "mm bert_down 128 3072 768",
    "mm long_qkv 384 768 768", "mm long_up 384 768 3072",  "mm vit_qkv 197 768 2304",
    "mm vit_up 197 768 3072",  "mm vit_down 197 3072 768", "mm gpt_qkv 1 768 2304",
    "mm gpt_up 1 768 3072",    "mm gpt_down 1 3072 768",   "mm head 1 768 10000",
    "mm lstm 35 650 2600",     "mm square 512 512 512",    "mm odd 100 300 1000"};

/* What the rule was made with, so what it gains on these is more than it gains. */
static const char *const own_works[] = {
    "mm bert_qkv 128 768 768",   "mm bert_up 128 768 3072",
    "mm bert_down 128 3072 768", "mm bert_long 384 768 3072",
    "mm bert_64 64 768 3072",    "mm bert_batch 1024 768 768",
    "mm vit_qkv 197 768 2304",   "mm vit_proj 197 768 768",
    "mm vit_up 197 768 3072",    "mm vit_down 197 3072 768",
    "mm gpt_qkv 1 768 2304",     "mm gpt_proj 1 768 768",
    "mm gpt_up 1 768 3072",      "mm gpt_down 1 3072 768",
    "mm lstm_in 35 650 2600",    "mm lstm_step 20 512 2048",
    "mm odd_1 100 300 1000",     "mm odd_2 33 517 129",
    "mm odd_3 7 1000 333",       "mm odd_4 250 1111 257",
    "mm large 1024 4096 1024",   "mm llama_up 16 2048 5632",
    "mm lm_36 36 650 2592"};

/* Held apart: written down when the rule was done. */
static const char *const held_works[] = {
    "mm clip_up 77 768 3072",      "mm clip_down 77 3072 768",
    "mm t5_up 64 512 2048",        "mm whisper_q 1500 384 384",
    "mm whisper_up 1500 384 1536", "mm large_up 256 1024 4096",
    "mm large_down 256 4096 1024", "mm deit_qkv 198 192 576",
    "mm swin_qkv 49 192 576",      "mm gpt_medium 1 1024 4096",
    "mm lstm_8 8 1024 4096",       "mm class 1 2048 1000",
    "mm wide 96 320 5000",         "mm narrow 640 1200 48",
    "mm mlp 48 1200 900",          "mm square 768 768 768",
    "mm small 12 80 200",          "mm distil 256 768 3072"};

enum { OWN, HELD, N_LISTS };

typedef struct work_list {
    const char *title;
    const char *const *work;
    int n;
} work_list;

#define LIST(title, works)                                                             \
    { title, works, sizeof works / sizeof works[0] }
static const work_list rule_list[N_LISTS] = {
    [OWN] = LIST("made with", own_works), [HELD] = LIST("held apart", held_works)};

typedef struct subject {
    kiln_op_work work;
    kiln_kernel kernel;
    kiln_code *code;
    kiln_kernel_fn *fn;
    double predicted, ns;
    int n_copies;
    void *tensor[MAX_COPIES][MAX_ARGS];
    kiln_args args[MAX_COPIES];
    double sample[ROUNDS];
} subject;

static void need(kiln_status st, const kiln_err *err) {
    if (st == KILN_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void *memory(size_t bytes) {
    void *p = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        exit(1);
    memset(p, 0, bytes + 4096);
    return p;
}

typedef struct mapping {
    void *p;
    size_t bytes;
} mapping;

static void unmap(void *p) {
    const mapping *m = p;
    (void)munmap(m->p, m->bytes + 4096);
}

static void give_back(kiln_arena *a, void *p, size_t bytes) {
    mapping *m = kiln_new(a, mapping);
    *m = (mapping){p, bytes};
    kiln_arena_defer(a, unmap, m);
}

static void close_code(void *code) { kiln_code_close(code); }

/* Constants in so many copies that no cache holds them all; their values change no
 * time. */
static bool load(kiln_arena *a, subject *s, const kiln_profile *p) {
    const kiln_te_graph *te = &s->kernel.scheduled.te;
    char text[KILN_LOAD_TEXT];
    int64_t constant = 1;
    if (te->n_args > MAX_ARGS ||
        kiln_code_open(s->kernel.object.bytes.p, s->kernel.object.bytes.n, &s->code,
                       text) != KILN_LOAD_OK)
        return false;
    kiln_arena_defer(a, close_code, s->code);
    s->fn = kiln_code_kernel(s->code, s->kernel.program->name);
    for (size_t i = 0; i < te->n_args; i++)
        if (te->arg_value[i]->data != NULL)
            constant += kiln_type_bytes(&te->arg_type[i]);
    const int64_t copies = 2 * kiln_cache_last(p) / constant + 1;
    s->n_copies = copies < MAX_COPIES ? (int)copies : MAX_COPIES;
    for (size_t i = 0; i < te->n_args; i++) {
        const size_t bytes = (size_t)kiln_type_bytes(&te->arg_type[i]);
        for (int k = 0; k < s->n_copies; k++) {
            if (k > 0 && te->arg_value[i]->data == NULL) {
                s->tensor[k][i] = s->tensor[0][i];
                continue;
            }
            s->tensor[k][i] = memory(bytes);
            give_back(a, s->tensor[k][i], bytes);
        }
    }
    const size_t workspace = s->kernel.object.workspace_bytes + 64;
    void *shared = memory(workspace);
    give_back(a, shared, workspace);
    for (int k = 0; k < s->n_copies; k++)
        s->args[k] = (kiln_args){s->tensor[k], shared};
    return s->fn != NULL;
}

static kiln_cycles predict(kiln_arena *a, const subject *s, const kiln_profile *p) {
    const kiln_te_graph *te = &s->kernel.scheduled.te;
    bool is_cold[MAX_ARGS] = {false};
    kiln_program *program;
    kiln_err err = {0};
    for (size_t i = 0; i < te->n_args && i < MAX_ARGS; i++)
        is_cold[i] = te->arg_value[i]->data != NULL;
    need(kiln_lower(a, s->kernel.scheduled.schedule, te->arg, te->n_args, te->n_inputs,
                    "k", &program, &err),
         &err);
    return kiln_cycles_of_program(a, p, program, is_cold, 1);
}

/* What one thread got of the processor, whoever else wanted it; of several the wall's
 * clock. */
static int64_t now_ns(int threads) {
    struct timespec t = {0};
    if (threads > 1)
        return kiln_now_ns();
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void one_round(subject *s, kiln_ctx *ctx, int round) {
    static const double slice_ns = 1.5e6;
    const double guess = s->ns > 0 ? s->ns : 1e6;
    const int calls = (int)(slice_ns / guess) + 1;
    (void)s->fn(&s->args[s->n_copies - 1], ctx);
    const int64_t begin = now_ns(ctx->n_threads);
    for (int i = 0; i < calls; i++)
        (void)s->fn(&s->args[i % s->n_copies], ctx);
    s->sample[round] = (double)(now_ns(ctx->n_threads) - begin) / calls;
    s->ns = round == 0 ? s->sample[0] : s->ns;
}

/* All of them in turns: what disturbs one disturbs the others. */
static void time_all(subject *const *s, int n, kiln_ctx *ctx) {
    for (int i = 0; i < n; i++)
        one_round(s[i], ctx, 0);
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < n; i++)
            one_round(s[(i + r) % n], ctx, r);
    for (int i = 0; i < n; i++) {
        kiln_sort_f64(s[i]->sample, ROUNDS);
        s[i]->ns = kiln_quantile(s[i]->sample, ROUNDS, 0.2);
    }
}

/* ---- the table ------------------------------------------------------------------- */

static double kendall(const double *x, const double *y, int n) {
    int agree = 0, pairs = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++, pairs++)
            agree += (x[i] - x[k]) * (y[i] - y[k]) > 0 ? 1 : -1;
    return pairs > 0 ? (double)agree / pairs : 1;
}

static void ranks(const double *x, int n, double *out) {
    for (int i = 0; i < n; i++) {
        out[i] = 0;
        for (int k = 0; k < n; k++)
            out[i] += x[k] < x[i];
    }
}

static double spearman(const double *x, const double *y, int n) {
    enum { MOST = MAX_WORKS * N_CONFIGS };
    static double a[MOST], b[MOST];
    double sum = 0;
    ranks(x, n, a);
    ranks(y, n, b);
    for (int i = 0; i < n; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return 1 - 6 * sum / ((double)n * ((double)n * n - 1));
}

static bool make(kiln_arena *a, const char *line, const kiln_profile *p,
                 kiln_rng *random, const kiln_choose_options *o, subject *s) {
    kiln_op_line one;
    kiln_choice choice;
    kiln_err err = {0};
    need(kiln_op_line_of(a, line, &one, &err), &err);
    need(kiln_op_work_make(a, &one, &s->work, &err), &err);
    need(kiln_choose(a, &s->work, p, o, &choice, &err), &err);
    if (random != NULL)
        choice.config = kiln_config_random(&choice.space, random);
    return kiln_kernel_make(a, &s->work, &choice, p, &s->kernel, &err) == KILN_OK &&
           s->kernel.object.scratch_bytes <= 1 << 24 && load(a, s, p);
}

static void ctx_of(int threads, kiln_ctx *serial, kiln_ctx **out) {
    kiln_pool *pool = NULL;
    char text[KILN_POOL_TEXT];
    const size_t scratch = 1 << 24;
    kiln_ctx_init_serial(serial, memory(scratch));
    *out = serial;
    const kiln_pool_options o = {
        .n_threads = threads, .pins = 1, .scratch_bytes = scratch};
    if (threads > 1 && kiln_pool_open(&o, &pool, text) == 0)
        *out = kiln_pool_ctx(pool);
}

static void table(const kiln_profile *p, double ghz, kiln_ctx *ctx) {
    enum { N = sizeof table_works / sizeof table_works[0] };
    static double x[N * N_CONFIGS], y[N * N_CONFIGS], factor[N * N_CONFIGS], tau[N];
    kiln_rng rng;
    int n = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    printf("%-12s %8s %10s %10s %8s %8s\n", "work", "tau", "rule ms", "best ms",
           "model's", "factor");
    for (int w = 0; w < N; w++) {
        kiln_arena a = {0};
        subject *s[N_CONFIGS];
        int got = 0, chosen = 0;
        double best = HUGE_VAL;
        for (int tries = 0; got < N_CONFIGS && tries < 20 * N_CONFIGS; tries++) {
            static const kiln_choose_options none = {.tmpl = NULL};
            s[got] = kiln_new(&a, subject);
            if (make(&a, table_works[w], p, got > 0 ? &rng : NULL, &none, s[got])) {
                s[got]->predicted = predict(&a, s[got], p).all;
                got++;
            }
        }
        time_all(s, got, ctx);
        for (int i = 0; i < got; i++) {
            x[n + i] = s[i]->predicted;
            y[n + i] = s[i]->ns;
            factor[n + i] = fabs(log(s[i]->predicted / (s[i]->ns * ghz)));
            best = fmin(best, s[i]->ns);
            chosen = s[i]->predicted < s[chosen]->predicted ? i : chosen;
        }
        tau[w] = kendall(x + n, y + n, got);
        printf("%-12s %8.2f %10.4f %10.4f %8.2f %8.2f\n", s[0]->work.name, tau[w],
               s[0]->ns * 1e-6, best * 1e-6, s[chosen]->ns / best,
               s[0]->predicted / (s[0]->ns * ghz));
        n += got;
        kiln_arena_fini(&a);
    }
    const double rho = spearman(x, y, n);
    printf("%d points: Spearman %.3f; Kendall in a work: median %.2f; cycles wrong by "
           "a factor of %.2f in the median\n",
           n, rho, kiln_median(tau, N), exp(kiln_median(factor, (size_t)n)));
}

/* ---- operators ------------------------------------------------------------------- */

/* What the lists have none of: few operations for what is read, functions, rows and
 * columns that no vector divides. */
static const char *const other_ops[] = {
    "add add in=f32[64,56,56] in=f32[64,56,56]",
    "add add_far in=f32[4096,4096] in=f32[4096,4096]",
    "mul scale in=f32[64,3136] const=f32[64,1]",
    "relu relu in=f32[64,3136]",
    "sigmoid sigmoid in=f32[64,3136]",
    "exp exp in=f32[64,3136]",
    "tanh tanh in=f32[64,3136]",
    "erf erf in=f32[64,3136]",
    "gelu gelu in=f32[128,3072]",
    "div div in=f32[64,3136] in=f32[64,3136]",
    "sqrt sqrt in=f32[64,3136]",
    "add add_tail in=f32[1000,17] in=f32[1000,17]",
    "softmax softmax in=f32[128,1000] axis=-1",
    "softmax softmax_tail in=f32[384,77] axis=-1",
    "layer_norm layer_norm in=f32[128,768] const=f32[768] const=f32[768] axis=-1",
    "reduce_sum sum_rows in=f32[512,1000] axes=1 keepdims=no",
    "reduce_sum sum_columns in=f32[512,1000] axes=0 keepdims=no",
    "reduce_mean mean in=f32[1,512,7,7] axes=2,3 keepdims=no",
    "transpose turn in=f32[512,768] perm=1,0",
    "max_pool pool in=f32[1,64,112,112] kernel=3,3 strides=2,2 pads=1,1,1,1",
    "dw dw 56 128 128 3 1",
    "mm mm_tail 77 65 33",
    "mm mm_row 1 768 3072",
    "mm mm_bert 128 768 3072",
    "conv conv_tail 13 20 17 3 1"};

typedef struct errors {
    double log[256];
    int n;
} errors;

/* Predicted over measured, and which part of the model decides. */
static void compare_cycles(const char *line, const kiln_profile *p, double ghz,
                           kiln_ctx *ctx, errors *all) {
    static const kiln_choose_options none = {.tmpl = NULL};
    kiln_arena a = {0};
    subject *s = kiln_new(&a, subject);
    if (make(&a, line, p, NULL, &none, s)) {
        const kiln_cycles c = predict(&a, s, p);
        time_all(&s, 1, ctx);
        const double ratio = c.all / (s->ns * ghz);
        const char *bound = c.core >= fmax(c.l2, fmax(c.l3, c.memory)) ? "core"
                            : c.l2 >= fmax(c.l3, c.memory)             ? "l2"
                            : c.l3 >= c.memory                         ? "l3"
                                                                       : "memory";
        printf("%-12s %-14s %12.0f %12.0f %8.2f  %s\n", s->work.name,
               s->kernel.choice.tmpl->name, s->ns * ghz, c.all, ratio, bound);
        if (all->n < (int)(sizeof all->log / sizeof all->log[0]))
            all->log[all->n++] = log(ratio);
    } else {
        printf("%.60s: not made\n", line);
    }
    kiln_arena_fini(&a);
}

static void summarize(const char *title, errors *e) {
    double off[256];
    for (int i = 0; i < e->n; i++)
        off[i] = fabs(e->log[i]);
    kiln_sort_f64(off, (size_t)e->n);
    if (e->n > 0)
        printf("%s: %d operators; predicted over measured %.2f in the median, wrong by "
               "a factor of %.2f in the median, %.2f in nine of ten\n\n",
               title, e->n, exp(kiln_median(e->log, (size_t)e->n)),
               exp(kiln_median(off, (size_t)e->n)),
               exp(kiln_quantile(off, (size_t)e->n, 0.9)));
}

static void ops_table(const kiln_profile *p, double ghz, kiln_ctx *ctx) {
    kiln_arena a = {0};
    kiln_err err = {0};
    printf("%-12s %-14s %12s %12s %8s  %s\n", "operator", "template", "cycles",
           "predicted", "ratio", "bound by");
    for (int l = 0; kiln_op_list_at(l) != NULL; l++) {
        kiln_op_lines lines;
        errors e = {.n = 0};
        need(kiln_op_lines_read(&a, kiln_op_list_at(l), &lines, &err), &err);
        for (size_t i = 0; i < lines.list.n; i++)
            compare_cycles(lines.list.v[i].text, p, ghz, ctx, &e);
        summarize(kiln_op_list_at(l), &e);
    }
    errors e = {.n = 0};
    for (size_t i = 0; i < sizeof other_ops / sizeof other_ops[0]; i++)
        compare_cycles(other_ops[i], p, ghz, ctx, &e);
    summarize("others", &e);
    kiln_arena_fini(&a);
}

/* ---- rules ----------------------------------------------------------------------- */

static void print_rule(kiln_arena *a, const char *line, const kiln_profile *p,
                       kiln_json_writer *w) {
    static const kiln_choose_options none = {.tmpl = NULL};
    subject *s = kiln_new(a, subject);
    kiln_op_line one;
    kiln_choice c;
    kiln_err err = {0};
    need(kiln_op_line_of(a, line, &one, &err), &err);
    need(kiln_op_work_make(a, &one, &s->work, &err), &err);
    need(kiln_choose(a, &s->work, p, &none, &c, &err), &err);
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "op", s->work.name);
    kiln_json_member_str(w, "template", c.tmpl->name);
    kiln_json_name(w, "config");
    kiln_config_put(w, c.tmpl, &c.space, &c.config);
    kiln_json_end_object(w);
}

static void print_rules(const kiln_profile *p) {
    kiln_arena a = {0};
    kiln_buf text;
    kiln_json_writer w;
    kiln_buf_init(&text, &a);
    kiln_json_writer_init(&w, &text);
    kiln_json_begin_array(&w);
    for (int k = 0; k < N_LISTS; k++)
        for (int i = 0; i < rule_list[k].n; i++)
            print_rule(&a, rule_list[k].work[i], p, &w);
    kiln_json_end_array(&w);
    printf("%s\n", text.p);
    kiln_arena_fini(&a);
}

/* The time before over that after; 0: both do the same. */
static double compare_one(const char *line, const kiln_profile *p,
                          const kiln_choose_options rule[2], kiln_ctx *ctx) {
    kiln_arena a = {0};
    subject *s[2] = {kiln_new(&a, subject), kiln_new(&a, subject)};
    kiln_buf text[2];
    for (int k = 0; k < 2; k++) {
        if (!make(&a, line, p, NULL, &rule[k], s[k]))
            exit(1);
        const kiln_choice *c = &s[k]->kernel.choice;
        kiln_buf_init(&text[k], &a);
        kiln_config_json(&text[k], c->tmpl, &c->space, &c->config);
    }
    double ratio = 0;
    if (strcmp(text[0].p, text[1].p) == 0) {
        /* Would only measure the noise. */
        printf("%-12s the same\n", s[0]->work.name);
    } else {
        time_all(s, 2, ctx);
        ratio = s[0]->ns / s[1]->ns;
        printf("%-12s %9.4f ms %9.4f ms  %6.3f\n%s\n%s\n", s[0]->work.name,
               s[0]->ns * 1e-6, s[1]->ns * 1e-6, ratio, text[0].p, text[1].p);
    }
    kiln_arena_fini(&a);
    return ratio;
}

static void compare(const kiln_profile *p, const char *path, kiln_ctx *ctx) {
    kiln_arena all = {0};
    kiln_choose_options rule[2] = {{.tmpl = NULL}, {.tmpl = NULL}};
    kiln_err err = {0};
    need(kiln_json_read(&all, path, &rule[0].file, &err), &err);
    rule[0].is_used = kiln_array(&all, bool, kiln_json_size(rule[0].file) + 1);
    for (int k = 0; k < N_LISTS; k++) {
        const work_list *l = &rule_list[k];
        double sum = 0;
        int n_others = 0;
        for (int i = 0; i < l->n; i++) {
            const double ratio = compare_one(l->work[i], p, rule, ctx);
            n_others += ratio > 0;
            sum += ratio > 0 ? log(ratio) : 0;
        }
        printf("%s: %d of %d differ; geometric mean of these: %.3f\n", l->title,
               n_others, l->n, n_others > 0 ? exp(sum / n_others) : 1);
    }
    kiln_arena_fini(&all);
}

int main(int argc, char **argv) {
    kiln_arena a = {0};
    kiln_profile p;
    kiln_machine_model m;
    kiln_err err = {0};
    kiln_ctx serial, *ctx;
    const bool has_verb = argc > 1;
    int64_t threads = 1;
    if (argc > 3 && !kiln_parse_i64(kiln_str_from(argv[3]), &threads))
        return 2;
    need(kiln_machine_native(&a, &p, &err), &err);
    ctx_of((int)threads, &serial, &ctx);
    if (has_verb && strcmp(argv[1], "rules") == 0) {
        print_rules(&p);
    } else if (argc > 2 && strcmp(argv[1], "compare") == 0) {
        compare(&p, argv[2], ctx);
    } else {
        need(kiln_profile_detect(&a, &p, &err), &err);
        need(kiln_machine_measure(&a, &p, &m, &err), &err);
        p.core = m.core;
        (has_verb ? ops_table : table)(&p, m.clock_ghz, ctx);
    }
    kiln_arena_fini(&a);
    return 0;
}
