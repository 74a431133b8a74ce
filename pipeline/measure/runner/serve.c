/* The runner's conversation: set up once, then workloads and candidates until the pipe
 * ends. */
#include "pipeline/measure/runner/runner_internal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_WORKS = 1 << 16 };

kiln_status kiln_runner_map(kiln_runner *r, uint64_t end, kiln_err *err) {
    struct stat st;
    if (end <= r->shared_bytes)
        return KILN_OK;
    if (fstat(KILN_WIRE_SHARED_FD, &st) != 0 || st.st_size < 0 ||
        (uint64_t)st.st_size < end)
        return kiln_fail(err, KILN_ERR_PARSE, "the shared memory has no byte %" PRIu64,
                         end);
    void *map =
        mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, KILN_WIRE_SHARED_FD, 0);
    if (map == MAP_FAILED)
        return kiln_fail(err, KILN_ERR_OOM, "cannot map the shared memory");
    if (r->shared != NULL)
        (void)munmap((void *)(uintptr_t)r->shared, r->shared_bytes);
    /* No candidate has what is expected of it, not even to read. */
    const kiln_region all = {.map = map, .map_bytes = (size_t)st.st_size};
    kiln_region_pass_on(&all, false);
    r->shared = map;
    r->shared_bytes = (size_t)st.st_size;
    return KILN_OK;
}

const void *kiln_runner_bytes(kiln_runner *r, kiln_wire_place p) {
    if (p.bytes == 0 || p.at > r->shared_bytes || p.bytes > r->shared_bytes - p.at)
        return NULL;
    return r->shared + p.at;
}

static kiln_status check_place(kiln_runner *r, kiln_wire_place p, uint64_t bytes,
                               kiln_err *err) {
    if (p.at % 8 != 0 || p.bytes != bytes || p.bytes > UINT64_MAX - p.at)
        return kiln_fail(err, KILN_ERR_PARSE, "a workload's memory is broken");
    return kiln_runner_map(r, p.at + p.bytes, err);
}

/* Everything that is read without a look later. */
static kiln_status check_expected(kiln_runner *r, const kiln_wire_expected *e,
                                  int64_t n_elems, kiln_err *err) {
    const uint64_t n = e->value.bytes / sizeof(double);
    KILN_TRY(check_place(r, e->value, n * sizeof(double), err));
    if (e->bound.bytes > 0)
        KILN_TRY(check_place(r, e->bound, n * sizeof(double), err));
    if (e->pick.bytes == 0 && n == (uint64_t)n_elems)
        return KILN_OK;
    KILN_TRY(check_place(r, e->pick, n * sizeof(int64_t), err));
    const int64_t *pick = kiln_runner_bytes(r, e->pick);
    for (uint64_t i = 0; i < n; i++)
        if (pick[i] < 0 || pick[i] >= n_elems)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "an expected element is outside its output");
    return KILN_OK;
}

static kiln_status check_value(kiln_runner *r, const kiln_wire_value *v,
                               uint32_t n_seeds, kiln_err *err) {
    uint64_t n = kiln_wire_dtype_bytes(v->dtype);
    for (uint32_t i = 0; i < v->rank; i++) {
        if (v->dim[i] < 0 || (uint64_t)v->dim[i] > UINT32_MAX ||
            (n > 0 && (uint64_t)v->dim[i] > UINT32_MAX * (uint64_t)64 / n))
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "a value of the workload is too large");
        n *= (uint64_t)v->dim[i];
    }
    for (uint32_t s = 0; s < n_seeds; s++)
        KILN_TRY(v->is_output != 0
                     ? check_expected(r, &v->expected[s], kiln_value_elems(v), err)
                     : check_place(r, v->data[s], n, err));
    return KILN_OK;
}

static kiln_status take_work(kiln_runner *r, const kiln_wire_frame *f, kiln_err *err) {
    kiln_wire_work w;
    KILN_TRY(kiln_wire_get(&r->arena, f, &w, err));
    if (w.id > r->work.n || w.id >= MAX_WORKS || w.n_seeds == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "workload %" PRIu32 " is out of order",
                         w.id);
    for (uint32_t i = 0; i < w.n_values; i++) {
        /* Views into the frame would go with it. */
        w.value[i].name = kiln_str_from(kiln_str_dupv(&r->arena, w.value[i].name));
        KILN_TRY(check_value(r, &w.value[i], w.n_seeds, err));
    }
    if (w.id == r->work.n)
        kiln_vec_push(&r->arena, &r->work, w);
    return KILN_OK;
}

static kiln_status set_up(kiln_runner *r, const kiln_wire_frame *f, kiln_buf *answer,
                          kiln_err *err) {
    KILN_TRY(kiln_wire_expect(&r->arena, f, KILN_WIRE_RUNNER, &r->options, err));
    kiln_wire_runner *o = &r->options;
    if (o->threads == 0 || o->threads > KILN_MAX_THREADS || o->time_limit_ms <= 0)
        return kiln_fail(err, KILN_ERR_ARG, "%" PRIu32 " threads, %" PRId64 " ms",
                         o->threads, o->time_limit_ms);
    KILN_TRY(kiln_meter_kernels_open(r, err));
    o->meter.fma = o->meter.chain = o->meter.fma_name = o->meter.chain_name =
        (kiln_str){NULL, 0}; /* views into the frame */
    kiln_wire_ready ready = {.fma_per_cycle = r->meter.fma_per_cycle,
                             .peak_gflops = r->meter.best_gflops,
                             .memory_gbs = r->meter.memory_gbs};
    char why[KILN_CONFINE_TEXT];
    r->is_confined = kiln_confine_works(why);
    ready.is_confined = r->is_confined;
    ready.not_confined = kiln_str_from(why);
    ready.clock_ghz = kiln_meter_kernels_slice(&r->meter, NULL).clock_ghz;
    kiln_wire_put(answer, KILN_WIRE_READY, &ready);
    return KILN_OK;
}

static kiln_status run_candidate(kiln_runner *r, kiln_arena *a,
                                 const kiln_wire_frame *f, kiln_buf *answer,
                                 kiln_err *err) {
    kiln_wire_run q;
    KILN_TRY(kiln_wire_get(a, f, &q, err));
    kiln_wire_ran ran = {.id = q.id};
    if (q.takes_turns != 0) { /* what it is asked meanwhile takes the frame's place */
        q.code.object.p = kiln_arena_dup(a, q.code.object.p, q.code.object.n);
        q.code.name = kiln_str_from(kiln_str_dupv(a, q.code.name));
    }
    kiln_trial_do(r, a, &q, &ran);
    kiln_wire_put(answer, KILN_WIRE_RAN, &ran);
    return KILN_OK;
}

static kiln_status next_turn(kiln_runner *r, kiln_arena *a, uint64_t id,
                             const kiln_turn *done, kiln_wire_turn *next,
                             kiln_err *err) {
    const kiln_wire_turned turned = {.id = id, .turn = *done};
    bool goes_on;
    kiln_wire_frame f;
    kiln_buf answer;
    kiln_buf_init(&answer, a);
    kiln_wire_put(&answer, KILN_WIRE_TURNED, &turned);
    KILN_TRY(kiln_wire_write(STDOUT_FILENO, kiln_buf_str(&answer), err));
    KILN_TRY(kiln_wire_read(STDIN_FILENO, r->in, &goes_on, &f, err));
    if (!goes_on)
        return kiln_fail(err, KILN_ERR_IO, "nobody asks any more");
    return kiln_wire_expect(a, &f, KILN_WIRE_TURN, next, err);
}

bool kiln_runner_next_turn(kiln_runner *r, uint64_t id, const kiln_turn *done,
                           kiln_wire_turn *next) {
    kiln_arena scratch = {0};
    const kiln_status st = next_turn(r, &scratch, id, done, next, NULL);
    kiln_arena_fini(&scratch);
    return st == KILN_OK && next->id == id && next->is_last == 0;
}

static kiln_status answer_limits(kiln_runner *r, kiln_arena *a,
                                 const kiln_wire_frame *f, kiln_buf *answer,
                                 kiln_err *err) {
    kiln_wire_limits q;
    kiln_wire_limited limited;
    KILN_TRY(kiln_wire_get(a, f, &q, err));
    kiln_limits_measure(r, a, &q, &limited);
    kiln_wire_put(answer, KILN_WIRE_LIMITED, &limited);
    return KILN_OK;
}

static kiln_status answer_one(kiln_runner *r, kiln_arena *a, kiln_wire_stream *in,
                              bool *is_set_up, bool *goes_on, kiln_err *err) {
    kiln_wire_frame f;
    kiln_buf answer;
    kiln_buf_init(&answer, a);
    KILN_TRY(kiln_wire_read(STDIN_FILENO, in, goes_on, &f, err));
    if (!*goes_on)
        return KILN_OK;
    if (!*is_set_up && f.kind == KILN_WIRE_NETWORK) {
        *goes_on = false;
        return kiln_network_serve(r, &f, err);
    }
    if (!*is_set_up)
        KILN_TRY(set_up(r, &f, &answer, err));
    else if (f.kind == KILN_WIRE_WORK)
        KILN_TRY(take_work(r, &f, err));
    else if (f.kind == KILN_WIRE_RUN)
        KILN_TRY(run_candidate(r, a, &f, &answer, err));
    else if (f.kind == KILN_WIRE_LIMITS)
        KILN_TRY(answer_limits(r, a, &f, &answer, err));
    else
        return kiln_fail(err, KILN_ERR_PARSE, "a runner takes no '%s' now",
                         kiln_wire_kind_name(f.kind));
    *is_set_up = true;
    return kiln_wire_write(STDOUT_FILENO, kiln_buf_str(&answer), err);
}

static kiln_status serve(kiln_runner *r, kiln_arena *request, kiln_err *err) {
    kiln_wire_stream in = {.arena = &r->arena};
    kiln_region page;
    bool goes_on = true, is_set_up = false;
    kiln_buf hello;
    const kiln_wire_hello who = {.role = KILN_STR_LIT("runner")};
    kiln_buf_init(&hello, request);
    r->in = &in;
    KILN_TRY(kiln_region_open(sizeof(kiln_page), true, &page, err));
    r->page = (kiln_page *)(void *)page.data;
    kiln_wire_put(&hello, KILN_WIRE_HELLO, &who);
    KILN_TRY(kiln_wire_write(STDOUT_FILENO, kiln_buf_str(&hello), err));
    while (goes_on) {
        KILN_TRY(answer_one(r, request, &in, &is_set_up, &goes_on, err));
        kiln_arena_reset(request);
    }
    return KILN_OK;
}

int kiln_runner_main(void) {
    kiln_runner r = {.page = NULL};
    kiln_arena request = {0};
    kiln_err err = {.len = 0};
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &chld, NULL);
    kiln_trial_own_strays();
    const kiln_status st = serve(&r, &request, &err);
    if (st != KILN_OK) {
        kiln_buf last;
        const kiln_wire_failed why = {.text = kiln_str_from(err.text)};
        kiln_buf_init(&last, &request);
        kiln_wire_put(&last, KILN_WIRE_FAILED, &why);
        (void)kiln_wire_write(STDOUT_FILENO, kiln_buf_str(&last), NULL);
    }
    kiln_arena_fini(&request);
    kiln_arena_fini(&r.arena);
    return st == KILN_OK ? 0 : 5;
}
