/* The builder's conversation: what code is for, then workloads and candidates. */
#include "pipeline/measure/builder/builder.h"

#include "pipeline/measure/builder/builder_internal.h"
#include "pipeline/kernels/meter.h"
#include "pipeline/measure/wire/blobs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

enum { MAX_WORKS = 1 << 16, MAX_GRAPH_BYTES = 64 << 20, KEPT_BYTES = 64 << 20 };

/* A workload, parsed when the first candidate of it comes. */
typedef struct known_work {
    kiln_arena arena; /* of all that follows */
    kiln_wire_work wire;
    kiln_graph *graph; /* NULL: not yet */
    kiln_op_work work;
    /* Of the template asked for last. */
    const kiln_template *tmpl;
    kiln_space space;
} known_work;

typedef struct builder {
    kiln_arena arena;
    kiln_profile profile;
    kiln_builder_make_fn *make;
    KILN_VEC(known_work *) work; /* by id; NULL: dropped, or not announced yet */
    int64_t time_limit_ms;
    kiln_wire_peer peer; /* the fleet; standard output itself leads to standard error */
    kiln_blobs blobs;
    uint64_t data_limit_bytes;
    kiln_translator translator;
    kiln_packings packings;
} builder;

/* Beyond what this process has now: what a sanitizer reserves does not count. */
static void limit_data(uint64_t bytes) {
    struct rlimit r;
    if (bytes == 0 || getrlimit(RLIMIT_DATA, &r) != 0)
        return;
    r.rlim_cur = kiln_data_bytes(0) + bytes;
    if (r.rlim_cur < r.rlim_max)
        (void)setrlimit(RLIMIT_DATA, &r);
}

/* SIGPROF ends the process after so much of the processor; 0: never. */
static void limit_time(int64_t ms) {
    const struct itimerval t = {
        .it_value = {.tv_sec = (time_t)(ms / 1000),
                     .tv_usec = (suseconds_t)(ms % 1000 * 1000)}};
    (void)setitimer(ITIMER_PROF, &t, NULL);
}

/* Kernels that measure the peak are a processor's: of a GPU the profile says it. */
static kiln_status make_meter(builder *b, kiln_wire_meter *out, kiln_err *err) {
    kiln_meter_code code;
    *out = (kiln_wire_meter){.lanes = 1};
    if (kiln_profile_is_gpu(&b->profile))
        return KILN_OK;
    KILN_TRY(kiln_meter_code_make(&b->arena, &b->profile, &code, err));
    *out = kiln_meter_message(&code);
    return KILN_OK;
}

static kiln_status set_up(builder *b, const kiln_wire_frame *f, kiln_buf *answer,
                          kiln_err *err) {
    kiln_wire_builder m;
    kiln_wire_meter meter;
    KILN_TRY(kiln_wire_expect(&b->arena, f, KILN_WIRE_BUILDER, &m, err));
    const kiln_json *json = NULL;
    KILN_TRY(kiln_json_parse(&b->arena, m.profile, "profile", &json, err));
    KILN_TRY(kiln_profile_read(&b->arena, json, "profile", &b->profile, err));
    KILN_TRY(make_meter(b, &meter, err));
    if (!kiln_translator_is_wanted(&b->profile))
        limit_data(m.data_limit_bytes);
    b->data_limit_bytes = m.data_limit_bytes;
    b->time_limit_ms = m.time_limit_ms;
    kiln_wire_put(answer, KILN_WIRE_METER, &meter);
    return KILN_OK;
}

static known_work *find_work(const builder *b, uint32_t id) {
    return id < b->work.n ? b->work.v[id] : NULL;
}

static kiln_status read_work(builder *b, const kiln_wire_frame *f, known_work *k,
                             kiln_err *err) {
    kiln_wire_work *w = &k->wire;
    KILN_TRY(kiln_wire_get(&k->arena, f, w, err));
    if (w->id >= MAX_WORKS || w->graph.bytes > MAX_GRAPH_BYTES ||
        find_work(b, w->id) != NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "workload %" PRIu32 " is out of order",
                         w->id);
    for (uint32_t i = 0; i < w->n_values; i++)
        w->value[i].name = kiln_str_from(kiln_str_dupv(&k->arena, w->value[i].name));
    return KILN_OK;
}

static kiln_status take_work(builder *b, const kiln_wire_frame *f, kiln_err *err) {
    known_work *k = kiln_new(&b->arena, known_work);
    const kiln_status st = read_work(b, f, k, err);
    if (st != KILN_OK) {
        kiln_arena_fini(&k->arena);
        return st;
    }
    while (b->work.n <= k->wire.id) /* those between were dropped before we knew them */
        kiln_vec_push(&b->arena, &b->work, NULL);
    b->work.v[k->wire.id] = k;
    return KILN_OK;
}

static kiln_status drop_work(builder *b, const kiln_wire_frame *f, kiln_err *err) {
    kiln_wire_drop m;
    KILN_TRY(kiln_wire_get(&b->arena, f, &m, err));
    known_work *k = find_work(b, m.work);
    if (k == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "there is no workload %" PRIu32, m.work);
    b->work.v[m.work] = NULL;
    kiln_blobs_drop(&b->blobs, &k->wire.graph);
    kiln_arena_fini(&k->arena);
    return KILN_OK;
}

/* Its text, which may have to be asked for. What fails here is no candidate's fault. */
static kiln_status fetch_text(builder *b, uint32_t id, kiln_err *err) {
    known_work *k = find_work(b, id);
    bool asked;
    if (k == NULL || k->graph != NULL)
        return KILN_OK;
    kiln_wire_blob *const text = &k->wire.graph;
    return kiln_blobs_fetch(&b->blobs, &b->peer, &text, 1, &asked, err);
}

static kiln_status parse_work(known_work *k, kiln_err *err) {
    const kiln_wire_blob *b = &k->wire.graph;
    kiln_graph *g = NULL;
    KILN_TRY(kiln_graph_parse(&k->arena, (kiln_str){b->data, (size_t)b->bytes},
                              "workload", &g, err));
    KILN_TRY(kiln_op_work_of(&k->arena, g->name, g, &k->work, err));
    k->graph = g;
    return KILN_OK;
}

/* ---- candidates ------------------------------------------------------------------ */

static kiln_status choose(builder *b, const kiln_wire_build *q, known_work **work,
                          kiln_choice *out, kiln_err *err) {
    known_work *k = *work = find_work(b, q->work);
    if (k == NULL)
        return kiln_fail(err, KILN_ERR_ARG, "there is no workload %" PRIu32, q->work);
    if (k->graph == NULL)
        KILN_TRY(parse_work(k, err));
    const kiln_template *t = kiln_template_find(q->tmpl);
    if (t == NULL || !kiln_template_fits(t, &k->work.workload, &b->profile))
        return kiln_fail(err, KILN_ERR_ARG, "there is no template '%.*s' for it",
                         KILN_STR_ARG(q->tmpl));
    if (k->tmpl != t) {
        kiln_space_init(&k->space, &k->arena);
        k->tmpl = NULL;
        KILN_TRY(t->space(&k->work.workload, &b->profile, &k->space, err));
        k->tmpl = t;
    }
    if (q->config >= k->space.size)
        return kiln_fail(err, KILN_ERR_ARG,
                         "configuration %" PRIu64 " is outside of %" PRIu64, q->config,
                         k->space.size);
    *out = (kiln_choice){.tmpl = t,
                         .space = k->space,
                         .config = kiln_config_at(&k->space, q->config),
                         .origin = KILN_ORIGIN_FILE};
    return KILN_OK;
}

static kiln_str layouts_of(kiln_arena *a, const kiln_te_graph *te) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    for (size_t i = 0; i < te->n_args; i++)
        kiln_buf_printf(&text, "%s%s", i > 0 ? ", " : "",
                        kiln_type_text(a, &te->arg_type[i]));
    return kiln_buf_str(&text);
}

static kiln_code_facts facts_of(const builder *b, kiln_arena *a, const kiln_kernel *k,
                                const kiln_hot_loops *loops) {
    const kiln_spread s =
        kiln_program_spread(a, k->program, 2, b->profile.vector_bytes);
    const kiln_te_graph *te = &k->scheduled.te;
    kiln_code_facts f = {.n_loops = (uint32_t)loops->n,
                         .lower_ms = (double)k->lower_ns * 1e-6,
                         .codegen_ms = (double)k->codegen_ns * 1e-6,
                         .forks = s.forks,
                         .iterations = s.iterations,
                         .work = s.work,
                         .serial = s.serial,
                         .longest = s.longest};
    for (size_t i = 0; i < te->n_args; i++)
        f.operand_bytes += (uint64_t)kiln_type_bytes(&te->arg_type[i]);
    return f;
}

static kiln_status build(builder *b, kiln_arena *a, const kiln_wire_build *q,
                         kiln_wire_built *out, kiln_err *err) {
    known_work *k;
    kiln_choice choice;
    kiln_kernel kernel;
    kiln_hot_loops loops;
    KILN_TRY(choose(b, q, &k, &choice, err));
    KILN_TRY(b->make(a, &k->work, &choice, &b->profile, &kernel, err));
    KILN_TRY(kiln_object_check(kernel.object.bytes, err));
    KILN_TRY(kiln_kernel_loops(a, &kernel, &b->profile, &loops, err));
    out->layouts = layouts_of(a, &kernel.scheduled.te);
    out->facts = facts_of(b, a, &kernel, &loops);
    out->spills = (uint32_t)loops.spills;
    out->vector_registers = (uint32_t)loops.vector_registers;
    if (loops.hot != NULL) {
        out->hot_fma = (uint32_t)loops.hot->vector_fma;
        out->hot_instructions = (uint32_t)loops.hot->instructions;
    }
    if (loops.spills > 0 && q->takes_spills == 0) {
        out->error = KILN_TRIAL_SPILLS;
        out->text = kiln_str_from(
            kiln_format(a, "its hot loops go to the stack %d times", loops.spills));
    }
    out->code.object = kiln_translate(&b->translator, a, kernel.object.bytes);
    out->code.name = kiln_str_from(kernel.program->name);
    out->code.workspace_bytes = kernel.object.workspace_bytes;
    out->code.scratch_bytes = kernel.object.scratch_bytes;
    out->code.least_flops = kiln_program_least_flops(a, kernel.program);
    out->code.amplification = kiln_choice_amplification(&k->work, &choice);
    return kiln_operands_describe(a, &b->packings, &kernel.scheduled.te, &k->wire,
                                  &out->code, err);
}

static kiln_status answer_build(builder *b, kiln_arena *a, const kiln_wire_frame *f,
                                kiln_buf *answer, kiln_err *err) {
    /* The way in is used again when its text comes. */
    const kiln_wire_frame own = {f->kind,
                                 {kiln_arena_dup(a, f->body.p, f->body.n), f->body.n}};
    kiln_wire_build q;
    KILN_TRY(kiln_wire_get(a, &own, &q, err));
    KILN_TRY(fetch_text(b, q.work, err));
    kiln_err refusal = {.len = 0};
    kiln_wire_built built = {.id = q.id};
    const int64_t begin = kiln_now_ns();
    if (kiln_translator_open(&b->translator, &b->profile))
        limit_data(b->data_limit_bytes); /* beside what a driver has */
    limit_time(b->time_limit_ms);
    const kiln_status st = build(b, a, &q, &built, &refusal);
    limit_time(0);
    if (st != KILN_OK)
        built = (kiln_wire_built){.id = q.id,
                                  .error = KILN_TRIAL_REFUSED,
                                  .text = kiln_str_from(refusal.text)};
    built.build_ms = (double)(kiln_now_ns() - begin) * 1e-6;
    kiln_wire_put(answer, KILN_WIRE_BUILT, &built);
    return KILN_OK;
}

static kiln_status answer_one(builder *b, kiln_arena *request, bool *is_set_up,
                              bool *goes_on, kiln_err *err) {
    kiln_wire_frame f;
    kiln_buf answer;
    kiln_buf_init(&answer, request);
    KILN_TRY(kiln_wire_hear(&b->peer, -1, goes_on, &f, err));
    if (!*goes_on)
        return KILN_OK;
    if (!*is_set_up)
        KILN_TRY(set_up(b, &f, &answer, err));
    else if (f.kind == KILN_WIRE_WORK)
        KILN_TRY(take_work(b, &f, err));
    else if (f.kind == KILN_WIRE_DROP)
        KILN_TRY(drop_work(b, &f, err));
    else if (f.kind == KILN_WIRE_BUILD)
        KILN_TRY(answer_build(b, request, &f, &answer, err));
    else
        return kiln_fail(err, KILN_ERR_PARSE, "a builder takes no '%s' now",
                         kiln_wire_kind_name(f.kind));
    *is_set_up = true;
    return kiln_wire_write(b->peer.out, kiln_buf_str(&answer), err);
}

static kiln_status serve(builder *b, kiln_arena *request, kiln_err *err) {
    bool goes_on = true, is_set_up = false;
    const kiln_wire_hello who = {.role = KILN_STR_LIT("builder")};
    kiln_buf hello;
    /* A library that prints must not print among our messages. */
    b->peer.out = dup(STDOUT_FILENO);
    if (b->peer.out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot keep standard output apart");
    kiln_buf_init(&hello, request);
    kiln_wire_put(&hello, KILN_WIRE_HELLO, &who);
    KILN_TRY(kiln_wire_write(b->peer.out, kiln_buf_str(&hello), err));
    while (goes_on) {
        KILN_TRY(answer_one(b, request, &is_set_up, &goes_on, err));
        kiln_arena_reset(request);
    }
    return KILN_OK;
}

/* Whoever asks shares its processors, and has some candidates built ahead: while it
 * thinks of the next ones nothing else is to be waited for. */
static void give_way(void) {
    enum { NICER = 4 };
    errno = 0;
    const int now = getpriority(PRIO_PROCESS, 0);
    if (errno == 0)
        (void)setpriority(PRIO_PROCESS, 0, now + NICER);
}

int kiln_builder_main(kiln_builder_make_fn *make) {
    builder b = {.make = make, .peer = {.in = STDIN_FILENO, .out = -1}};
    kiln_arena request = {0};
    kiln_err err = {.len = 0};
    give_way();
    b.peer.stream.arena = &b.arena;
    b.packings = (kiln_packings){.arena = &b.arena, .profile = &b.profile};
    kiln_blobs_init(&b.blobs, &b.arena, KEPT_BYTES);
    const kiln_status st = serve(&b, &request, &err);
    if (st != KILN_OK && b.peer.out >= 0) {
        kiln_buf last;
        const kiln_wire_failed why = {.text = kiln_str_from(err.text)};
        kiln_buf_init(&last, &request);
        kiln_wire_put(&last, KILN_WIRE_FAILED, &why);
        (void)kiln_wire_write(b.peer.out, kiln_buf_str(&last), NULL);
    }
    kiln_translator_close(&b.translator);
    kiln_arena_fini(&request);
    kiln_blobs_fini(&b.blobs);
    for (size_t i = 0; i < b.work.n; i++)
        if (b.work.v[i] != NULL)
            kiln_arena_fini(&b.work.v[i]->arena);
    kiln_arena_fini(&b.arena);
    return st == KILN_OK ? 0 : 5;
}
