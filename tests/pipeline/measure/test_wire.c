/* Messages between the fleet and its workers: what is written is read again; what is no
 * message is refused by name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/measure/wire/wire.h"
#include "tests/support/kiln_test.h"

static kiln_str s(const char *text) { return kiln_str_from(text); }

static kiln_wire_operand an_operand(void) {
    return (kiln_wire_operand){
        .value = 1, .n_steps = 2, .step = {{0, 4, 8}, {0, 8, 1}}};
}

static kiln_wire_operand a_packed_operand(void) {
    return (kiln_wire_operand){.value = 2,
                               .packing = {.object = s("ELF that packs"),
                                           .name = s("kiln_pack"),
                                           .workspace_bytes = 64,
                                           .scratch_bytes = 128,
                                           .bytes = 4096}};
}

static kiln_wire_blob a_blob(uint64_t bytes, int number) {
    kiln_wire_blob b = {.bytes = bytes};
    for (size_t i = 0; i < sizeof b.sha256; i++)
        b.sha256[i] = (unsigned char)((size_t)number * 17 + i);
    return b;
}

/* Of turns and limits. */
static void put_turns(kiln_buf *out) {
    static kiln_wire_level level[1];
    const kiln_wire_turn turn = {.id = 9, .has_peak = 1, .n_ahead = 2, .has_slice = 1};
    const kiln_wire_turned turned = {9, {{200.5, 3.7}, 1e5, 10, true}};
    level[0] = (kiln_wire_level){s("ELF"), s("ELF too"), 1 << 20, 1 << 19};
    const kiln_wire_limits limits = {.n_peaks = 50, .n_levels = 1, .level = level};
    const kiln_wire_limited limited = {.problem = s("no threads"),
                                       .peak = {200.5, 3.7},
                                       .n_levels = 2,
                                       .gbs = {100, 12.5}};
    kiln_wire_put(out, KILN_WIRE_TURN, &turn);
    kiln_wire_put(out, KILN_WIRE_TURNED, &turned);
    kiln_wire_put(out, KILN_WIRE_LIMITS, &limits);
    kiln_wire_put(out, KILN_WIRE_LIMITED, &limited);
}

/* Of pools. */
static void put_pool(kiln_buf *out) {
    const kiln_wire_borrow borrow = {s("me"), s("{}"), 2, 10, 60000};
    const kiln_wire_queued queued = {3, 8};
    const kiln_wire_granted granted = {s("board-1")};
    const kiln_wire_recall recall = {120000};
    const kiln_wire_gone gone = {s("it owes an answer"), 1};
    const kiln_wire_register again = {s("board-1"), s("unix:/run/kiln/board-1"), 61};
    const kiln_wire_list list = {16};
    const kiln_wire_listed listed = {s("{}")};
    kiln_wire_put(out, KILN_WIRE_BORROW, &borrow);
    kiln_wire_put(out, KILN_WIRE_QUEUED, &queued);
    kiln_wire_put(out, KILN_WIRE_GRANTED, &granted);
    kiln_wire_put(out, KILN_WIRE_RECALL, &recall);
    kiln_wire_put(out, KILN_WIRE_GONE, &gone);
    kiln_wire_put(out, KILN_WIRE_REGISTER, &again);
    kiln_wire_put(out, KILN_WIRE_LIST, &list);
    kiln_wire_put(out, KILN_WIRE_LISTED, &listed);
}

/* Of networks. */
static void put_network(kiln_buf *out, const kiln_wire_meter *meter) {
    static kiln_wire_function kernel[1];
    static kiln_wire_place input[2] = {{0, 64}, {64, 12}};
    static uint64_t step_ns[2] = {1000, UINT64_MAX};
    static kiln_wire_function module[1];
    kernel[0] = (kiln_wire_function){s("kiln_k0"), {128, 4096}};
    module[0] = (kiln_wire_function){s("lib1.gpu"), {4224, 640}};
    static kiln_wire_blob part[2];
    part[0] = a_blob(700, 8);
    part[1] = a_blob(KILN_WIRE_MAX_BLOB_BYTES, 9);
    const kiln_wire_network network = {.guest = 7,
                                       .folder = s("/tmp/p"),
                                       .n_parts = 2,
                                       .part = part,
                                       .plan = {0, 640},
                                       .params = {640, 1 << 20},
                                       .n_kernels = 1,
                                       .kernel = kernel,
                                       .n_modules = 1,
                                       .module = module,
                                       .driver = s("opencl"),
                                       .n_inputs = 2,
                                       .input = input,
                                       .meter = *meter,
                                       .data_limit_bytes = UINT64_C(1) << 33};
    const kiln_wire_ask ask = {.guest = 1,
                               .what = KILN_ASK_LOAD,
                               .session = 3,
                               .n = 2,
                               .runs = 1 << 20,
                               .time_ns = -1};
    const kiln_wire_told told = {.guest = 6,
                                 .clock_mhz = 1500,
                                 .degrees = 71,
                                 .is_throttled = 1,
                                 .problem = s("no threads"),
                                 .open_ms = 12.5,
                                 .bytes = 4096,
                                 .is_full = 1,
                                 .wall_ns = INT64_MAX,
                                 .peak = {200.5, 3.7},
                                 .n_steps = 2,
                                 .step_ns = step_ns,
                                 .data = s("bytes")};
    kiln_wire_put(out, KILN_WIRE_NETWORK, &network);
    kiln_wire_put(out, KILN_WIRE_ASK, &ask);
    kiln_wire_put(out, KILN_WIRE_TOLD, &told);
}

/* Of packings, and of what ended. */
static void put_packs(kiln_buf *out) {
    static kiln_wire_packer packer[1];
    static kiln_wire_constant constant[2] = {{0, {64, 576}, 1024}, {0, {640, 0}, 0}};
    packer[0] = (kiln_wire_packer){{s("kiln_pack"), {4096, 777}}, 1 << 16, 64};
    const kiln_wire_packs packs = {.n_packers = 1,
                                   .packer = packer,
                                   .n_constants = 2,
                                   .constant = constant,
                                   .data_limit_bytes = UINT64_MAX};
    const kiln_wire_ended ended = {s("was ended by signal 11"), 2};
    kiln_wire_put(out, KILN_WIRE_PACKS, &packs);
    kiln_wire_put(out, KILN_WIRE_ENDED, &ended);
}

/* An input and an output. */
static kiln_wire_work a_work(void) {
    static kiln_wire_value value[2];
    value[0] = (kiln_wire_value){.name = s("x"),
                                 .dtype = KILN_WIRE_F16,
                                 .rank = 2,
                                 .dim = {3, 5},
                                 .is_weight = 1,
                                 .data = {a_blob(30, 1), a_blob(30, 2)}};
    value[1] = (kiln_wire_value){
        .name = s("y"),
        .rank = 1,
        .dim = {7},
        .is_output = 1,
        .expected = {
            {.value = a_blob(56, 3), .bound = a_blob(56, 4), .pick = a_blob(56, 5)}}};
    return (kiln_wire_work){.id = 3,
                            .graph = a_blob(100, 6),
                            .flops = (double)INFINITY,
                            .n_seeds = 3,
                            .weights_cold = 1,
                            .n_values = 2,
                            .value = value};
}

static kiln_slice slice[2] = {{.ns = 1.5,
                               .peak_gflops = 200,
                               .disturbed = true,
                               .is_throttled = true,
                               .clock_mhz = 1800,
                               .degrees = 81},
                              {.ns = 2.5, .peak_gflops = 201}};

/* One of each kind, with something in every list. */
static void put_all(kiln_buf *out) {
    static kiln_wire_operand operand[2];
    operand[0] = a_packed_operand();
    operand[1] = an_operand();
    const kiln_wire_meter meter = {.fma = s("object"),
                                   .chain = s("other"),
                                   .fma_name = s("f"),
                                   .chain_name = s("c"),
                                   .fma_flops = 1e6,
                                   .chain_steps = 2e6,
                                   .lanes = 16,
                                   .fma_unit = 0.5};
    const kiln_wire_code code = {.object = s("ELF"),
                                 .name = s("kiln_kernel"),
                                 .workspace_bytes = 1 << 20,
                                 .scratch_bytes = 77,
                                 .least_flops = 3e9,
                                 .n_inputs = 1,
                                 .n_operands = 2,
                                 .operand = operand,
                                 .amplification = 4};
    const kiln_wire_hello hello = {s("runner"), s("{}")};
    const kiln_wire_lease lease = {s("process 7 on somewhere"), 5000};
    const kiln_wire_leased leased = {4000};
    const kiln_wire_lent lent = {s("process 8 on elsewhere"), -3};
    const kiln_wire_failed failed = {s("no memory")};
    const kiln_wire_builder builder = {s("{}"), UINT64_C(1) << 40, 10000};
    const kiln_wire_runner runner = {.meter = meter,
                                     .threads = 2,
                                     .cpu = -1,
                                     .loser = -1,
                                     .device = s("opencl"),
                                     .device_gflops = 200,
                                     .device_gbs = 20,
                                     .driver_limit_ms = 10000};
    const kiln_wire_ready ready = {200.5,        3.7, 2, 12.5, 0, s("no filter here"),
                                   s("a device")};
    const kiln_wire_work work = a_work();
    static kiln_wire_blob needed[2];
    needed[0] = a_blob(30, 1);
    needed[1] = a_blob(KILN_WIRE_MAX_BLOB_BYTES, 7);
    const kiln_wire_drop drop = {3};
    const kiln_wire_need need = {2, needed};
    const kiln_wire_piece piece = {
        .of = a_blob(30, 1), .at = 23, .bytes = s("the end")};
    const kiln_wire_build build = {UINT64_MAX, 3, s("conv_direct"), 1234567890123, 1};
    const kiln_wire_built built = {.id = 9,
                                   .error = KILN_TRIAL_SPILLS,
                                   .text = s("it spills"),
                                   .facts = {.operand_bytes = 1 << 20,
                                             .n_loops = 3,
                                             .lower_ms = 1.5,
                                             .forks = -1,
                                             .work = 1e9},
                                   .spills = 4,
                                   .code = code};
    const kiln_wire_run run = {
        .id = 9, .best_ns = 1e5, .budget_ms = 60, .takes_turns = 1, .code = code};
    const kiln_wire_ran ran = {.id = 9,
                               .error = KILN_TRIAL_IMPLAUSIBLE,
                               .worst = (double)NAN,
                               .least_flops = 3e9,
                               .limit_gflops = 250.5,
                               .max_abs = 1e-7,
                               .n_compared = 4096,
                               .n_elems = 1 << 20,
                               .n_slices = 2,
                               .slice = slice};
    const void *const all[KILN_WIRE_TURN] = {
        &hello, &failed, &lease, &leased, &lent,  &builder, &meter, &runner, &ready,
        &work,  &drop,   &need,  &piece,  &build, &built,   &run,   &ran};
    for (int k = 0; k < KILN_WIRE_TURN; k++)
        kiln_wire_put(out, (kiln_wire_kind)k, all[k]);
    put_turns(out);
    put_network(out, &meter);
    put_packs(out);
    put_pool(out);
}

typedef union message {
    kiln_wire_runner runner;
    kiln_wire_work work;
    kiln_wire_built built;
    kiln_wire_ran ran;
    unsigned char room[4096];
} message;

static void feed(kiln_wire_stream *in, kiln_str bytes) {
    size_t room;
    unsigned char *to = kiln_wire_stream_room(in, &room);
    assert_true(room >= bytes.n);
    memcpy(to, bytes.p, bytes.n);
    in->n += bytes.n;
}

/* Byte by byte, as slow pipes give it. */
static void reads_what_was_written(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf text, again;
    kiln_wire_stream in = {.arena = &a};
    int kind = 0;
    kiln_buf_init(&text, &a);
    kiln_buf_init(&again, &a);
    put_all(&text);
    for (size_t i = 0; i < text.n; i++) {
        bool has;
        kiln_wire_frame f;
        message m;
        feed(&in, (kiln_str){text.p + i, 1});
        kiln_assert_status_ok(kiln_wire_next(&in, &has, &f, &err), &err);
        if (!has)
            continue;
        assert_int_equal(f.kind, kind++);
        kiln_assert_status_ok(kiln_wire_get(&a, &f, &m, &err), &err);
        kiln_wire_put(&again, f.kind, &m);
    }
    assert_int_equal(kind, KILN_WIRE_N_KINDS);
    assert_int_equal(again.n, text.n);
    assert_memory_equal(again.p, text.p, text.n);
    kiln_arena_fini(&a);
}

/* Every message, cut at every place, and with every byte changed: refused, or another
 * message; nothing worse. */
static void refuses_what_is_broken(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_buf text;
    kiln_wire_stream in = {.arena = &a};
    kiln_buf_init(&text, &a);
    put_all(&text);
    feed(&in, kiln_buf_str(&text));
    for (;;) {
        bool has;
        kiln_err err = {0};
        kiln_wire_frame f, bad;
        kiln_assert_status_ok(kiln_wire_next(&in, &has, &f, &err), &err);
        if (!has)
            break;
        for (size_t n = 0; n < f.body.n; n++) {
            kiln_arena scratch = {0};
            message m;
            bad = f;
            bad.body.n = n;
            kiln_assert_fails(kiln_wire_get(&scratch, &bad, &m, &err), KILN_ERR_PARSE,
                              &err, "is broken");
            kiln_err_clear(&err);
            char *copy = kiln_arena_dup(&scratch, f.body.p, f.body.n);
            copy[n] = (char)~copy[n];
            bad.body = (kiln_str){copy, f.body.n};
            (void)kiln_wire_get(&scratch, &bad, &m, &err);
            kiln_err_clear(&err);
            kiln_arena_fini(&scratch);
        }
    }
    kiln_arena_fini(&a);
}

typedef struct header_row {
    const char *name;
    size_t at; /* of the byte that is changed */
    char to;
    kiln_status want;
    const char *text;
} header_row;

static header_row header_rows[] = {
    {"magic", 0, 'X', KILN_ERR_PARSE, "does not start as one"},
    {"version", 4, 12, KILN_ERR_UNSUPPORTED,
     "speaks version 12 of the protocol, not 11: install workers and kiln together"},
    {"kind", 8, 99, KILN_ERR_PARSE, "is of unknown kind 99"},
    {"length", 15, 127, KILN_ERR_LIMIT, "at most 67108864 may be"},
};

static void refuses_headers(void **state) {
    const header_row *row = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf text;
    kiln_wire_stream in = {.arena = &a};
    bool has;
    kiln_wire_frame f;
    const kiln_wire_hello hello = {.role = s("runner")};
    kiln_buf_init(&text, &a);
    kiln_wire_put(&text, KILN_WIRE_HELLO, &hello);
    text.p[row->at] = row->to;
    feed(&in, kiln_buf_str(&text));
    kiln_assert_fails(kiln_wire_next(&in, &has, &f, &err), row->want, &err, row->text);
    kiln_arena_fini(&a);
}

static void check_limits(int64_t time_ms, int64_t driver_ms, kiln_status want) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf text;
    kiln_wire_stream in = {.arena = &a};
    bool has;
    kiln_wire_frame f;
    kiln_wire_runner got;
    const kiln_wire_runner m = {.time_limit_ms = time_ms, .driver_limit_ms = driver_ms};
    kiln_buf_init(&text, &a);
    kiln_wire_put(&text, KILN_WIRE_RUNNER, &m);
    feed(&in, kiln_buf_str(&text));
    kiln_assert_status_ok(kiln_wire_next(&in, &has, &f, &err), &err);
    assert_int_equal(kiln_wire_get(&a, &f, &got, &err), want);
    kiln_arena_fini(&a);
}

/* Nanoseconds are made of them. */
static void limits_are_a_week_at_most(void **state) {
    (void)state;
    const int64_t most = KILN_WIRE_MOST_LIMIT_MS;
    check_limits(most, most, KILN_OK);
    check_limits(most + 1, 0, KILN_ERR_PARSE);
    check_limits(1, most + 1, KILN_ERR_PARSE);
    check_limits(1, INT64_MAX, KILN_ERR_PARSE);
    check_limits(-1, 0, KILN_ERR_PARSE);
}

static void says_what_it_waited_for(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_wire_ready m;
    const kiln_wire_frame f = {KILN_WIRE_RAN, {NULL, 0}};
    kiln_assert_fails(kiln_wire_expect(&a, &f, KILN_WIRE_READY, &m, &err),
                      KILN_ERR_PARSE, &err, "sent 'ran' where 'ready' was expected");
    kiln_arena_fini(&a);
}

static void reads_pipes(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf text;
    kiln_wire_stream in = {.arena = &a};
    kiln_wire_frame f;
    bool has;
    int fd[2];
    const kiln_wire_hello hello = {.role = s("runner")};
    assert_int_equal(pipe(fd), 0);
    kiln_buf_init(&text, &a);
    kiln_wire_put(&text, KILN_WIRE_HELLO, &hello);
    kiln_assert_status_ok(kiln_wire_write(fd[1], kiln_buf_str(&text), &err), &err);
    kiln_assert_status_ok(kiln_wire_write(fd[1], (kiln_str){text.p, text.n - 1}, &err),
                          &err);
    assert_int_equal(close(fd[1]), 0);
    kiln_assert_status_ok(kiln_wire_read(fd[0], &in, -1, &has, &f, &err), &err);
    assert_true(has && f.kind == KILN_WIRE_HELLO);
    kiln_assert_fails(kiln_wire_read(fd[0], &in, -1, &has, &f, &err), KILN_ERR_PARSE,
                      &err, "ended in the middle of a message");
    assert_int_equal(close(fd[0]), 0);
    kiln_arena_fini(&a);
}

static void names_errors(void **state) {
    (void)state;
    for (int i = 0; i < KILN_N_TRIAL_ERRORS; i++) {
        kiln_trial_error e;
        assert_true(
            kiln_trial_error_parse(s(kiln_trial_error_name((kiln_trial_error)i)), &e));
        assert_int_equal(e, i);
    }
    kiln_trial_error e;
    assert_false(kiln_trial_error_parse(s("fine"), &e));
}

/* KILN_WIRE_SEED=FILE: one message of each kind, for the corpus of fuzz_measure_wire.
 */
static void writes_a_seed(void **state) {
    (void)state;
    const char *path = getenv("KILN_WIRE_SEED");
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf text;
    kiln_buf_init(&text, &a);
    put_all(&text);
    if (path != NULL)
        kiln_assert_status_ok(kiln_file_write(path, text.p, text.n, &err), &err);
    kiln_str saved;
    kiln_assert_status_ok(
        kiln_file_map(&a, "tests/fuzz/corpus/measure_wire/all_kinds", 0, &saved, &err),
        &err);
    assert_int_equal(saved.n, text.n); /* the format did not change unnoticed */
    assert_memory_equal(saved.p, text.p, text.n);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("reads_what_was_written", reads_what_was_written, NULL);
    kiln_test_add("refuses_what_is_broken", refuses_what_is_broken, NULL);
    kiln_test_add_rows(refuses_headers, header_rows);
    kiln_test_add("limits_are_a_week_at_most", limits_are_a_week_at_most, NULL);
    kiln_test_add("says_what_it_waited_for", says_what_it_waited_for, NULL);
    kiln_test_add("reads_pipes", reads_pipes, NULL);
    kiln_test_add("names_errors", names_errors, NULL);
    kiln_test_add("writes_the_corpus_seed", writes_a_seed, NULL);
    return kiln_test_run("wire");
}
