/* The measured machine: made-up machines are recovered, nonsense is refused, what is
 * kept reads back, and this machine's numbers are possible ones. */
#include "pipeline/machine/machine_internal.h"
#include "tests/support/kiln_test.h"
#include "tuning_db/tuning_db.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- made-up machines ------------------------------------------------------------ */

typedef struct made_up {
    const char *name;
    kiln_core core; /* caches: what a core really gets */
    int vector_bytes, cores;
    int l1_kib, l2_kib, l3_kib; /* what the system says */
    double noise, stolen;       /* of a slice; share of slices that others take */
} made_up;

typedef struct machine {
    const made_up *is;
    kiln_profile profile;
    kiln_rng rng;
} machine;

static double random_share(kiln_rng *r) {
    return (double)kiln_rng_range(r, 0, 1000000) / 1e6;
}

static double read_rate(const machine *m, const kiln_machine_probe *p) {
    const kiln_core *c = &m->is->core;
    const int64_t kib = p->bytes / 1024;
    if (kib <= c->l1_kib)
        return c->load_ports * m->is->vector_bytes;
    if (kib <= c->l2_kib)
        return c->l2_rate;
    if (c->l3_rate > 0 && kib * p->threads <= c->l3_kib)
        return p->threads > 1 ? (double)c->l3_rate_all / p->threads : c->l3_rate;
    return p->threads > 1 ? (double)c->memory_rate_all / p->threads : c->memory_rate;
}

static double cycles_of(const machine *m, const kiln_machine_probe *p) {
    const kiln_core *c = &m->is->core;
    switch (p->kind) {
    case KILN_PROBE_FMA:
        return 1.0 / c->fma_ports;
    case KILN_PROBE_LATENCY:
        return c->fma_latency;
    case KILN_PROBE_LOAD: /* no neighbour takes that little */
        return 1.0 / (m->is->core.load_ports * m->is->vector_bytes);
    case KILN_PROBE_READ:
        return 1 / read_rate(m, p);
    case KILN_PROBE_WRITE:
        return 1.0 / (c->store_ports * m->is->vector_bytes);
    case KILN_PROBE_CHASE:
        return c->memory_latency;
    }
    return 0;
}

static void made_up_slice(void *cx, const kiln_machine_probe *p, double *unit_ns,
                          double *cycle_ns, bool *disturbed) {
    static const double ghz = 3.2;
    machine *m = cx;
    const double noise = 1 + m->is->noise * random_share(&m->rng);
    *cycle_ns = (1 + m->is->noise * random_share(&m->rng)) / ghz;
    *unit_ns = cycles_of(m, p) * noise / ghz;
    *disturbed = random_share(&m->rng) < m->is->stolen;
    if (*disturbed)
        *unit_ns *= 5;
}

static machine machine_of(const made_up *is) {
    machine m = {.is = is, .profile = *kiln_profile_at(0)};
    m.profile.vector_bytes = is->vector_bytes;
    m.profile.cores = is->cores;
    m.profile.l1d_bytes = (int64_t)is->l1_kib * 1024;
    m.profile.l2_bytes = (int64_t)is->l2_kib * 1024;
    m.profile.l3_bytes = (int64_t)is->l3_kib * 1024;
    kiln_rng_init(&m.rng, kiln_test_seed());
    return m;
}

static kiln_status measure_made_up(machine *m, kiln_core *out, kiln_err *err) {
    kiln_machine_probes probes;
    kiln_machine_reading r[KILN_MAX_PROBES];
    const kiln_machine_meter meter = {made_up_slice, NULL, NULL, m};
    kiln_assert_status_ok(
        kiln_machine_probes_make(kiln_test_arena(), &m->profile, false, &probes, err),
        err);
    kiln_machine_sample(&meter, &probes, r);
    return kiln_machine_core(&m->profile, &probes, r, out, err);
}

#define CORE(ports, latency, loads, stores, l2, l3, memory, k1, k2, k3, far, all3,     \
             all4)                                                                     \
    {                                                                                  \
        ports, latency, loads, stores, l2, l3, memory, k1, k2, k3, far, all3, all4, 0, \
            0, 0, 0                                                                    \
    }
static made_up machines[] = {
    {"two_ports_of_a_quiet_machine",
     CORE(2, 4, 2, 1, 64, 32, 8, 48, 1024, 32768, 500, 60, 12), 64, 2, 48, 1024, 32768,
     0, 0},
    /* All cores' parts that no L2 holds do not fit L3: nothing is measured. */
    {"one_port_late_and_noisy", CORE(1, 5, 1, 1, 12, 8, 4, 32, 512, 2048, 300, 0, 6),
     16, 4, 32, 512, 2048, 0.02, 0.2},
    {"four_ports_of_short_vectors",
     CORE(4, 4, 3, 2, 32, 16, 6, 64, 1024, 32768, 400, 200, 40), 16, 16, 64, 1024,
     32768, 0.01, 0.1},
    /* What all cores read together is more than the part that is ours. */
    {"a_shared_cache_that_is_not_ours",
     CORE(2, 4, 2, 1, 48, 10, 4, 48, 2048, 13440, 450, 40, 40), 64, 16, 48, 2048,
     107520, 0.02, 0.1},
    {"half_of_a_cache_is_partitioned_off",
     CORE(2, 4, 2, 1, 48, 12, 4, 48, 1024, 16384, 450, 20, 7), 64, 2, 48, 2048, 32768,
     0.01, 0.1},
    {"no_last_cache", CORE(1, 4, 1, 1, 12, 0, 4, 32, 512, 0, 250, 0, 8), 16, 4, 32, 512,
     0, 0.01, 0.1},
    {"one_core", CORE(2, 4, 2, 1, 32, 16, 5, 32, 256, 8192, 250, 0, 0), 32, 1, 32, 256,
     8192, 0.01, 0.1},
};

static void near(int got, int want, double share) {
    if (fabs((double)got - want) > share * want + 0.5)
        fail_msg("measured %d, is %d", got, want);
}

static void recovers_a_made_up_machine(void **state) {
    machine m = machine_of(*state);
    const kiln_core *want = &m.is->core;
    kiln_core c;
    kiln_err err = {0};
    kiln_assert_status_ok(measure_made_up(&m, &c, &err), &err);
    assert_int_equal(c.fma_ports, want->fma_ports);
    assert_int_equal(c.fma_latency, want->fma_latency);
    assert_int_equal(c.load_ports, want->load_ports);
    assert_int_equal(c.store_ports, want->store_ports);
    near(c.l2_rate, want->l2_rate, 0.05);
    near(c.memory_rate, want->memory_rate, 0.05);
    near(c.memory_latency, want->memory_latency, 0.05);
    if (want->l3_rate > 0)
        near(c.l3_rate, want->l3_rate, 0.05);
    near(c.l3_rate_all, want->l3_rate_all, 0.05);
    near(c.memory_rate_all, want->memory_rate_all, 0.05);
    /* Sizes as far as what is read of them tells: to an eighth, a quarter in L3. */
    assert_true(c.l1_kib <= want->l1_kib && c.l1_kib * 8 >= want->l1_kib * 7);
    assert_true(c.l2_kib <= want->l2_kib && c.l2_kib * 8 >= want->l2_kib * 7);
    assert_true(c.l3_kib <= want->l3_kib && c.l3_kib * 2 >= want->l3_kib);
    m.profile.core = c;
    const bool is_ours = 4 * c.l2_kib >= 3 * m.is->l2_kib;
    assert_int_equal(kiln_cache_l2(&m.profile),
                     is_ours ? m.profile.l2_bytes : (int64_t)c.l2_kib * 1024);
}

/* Half of L1 and more is another thread's, and what is read of L1 comes from L2. */
static void counts_ports_beside_a_neighbour(void **state) {
    (void)state;
    const made_up is = {"",     CORE(2, 4, 2, 1, 24, 16, 8, 8, 512, 12288, 500, 30, 12),
                        32,     2,
                        32,     512,
                        262144, 0.02,
                        0.1};
    machine m = machine_of(&is);
    kiln_core c;
    kiln_err err = {0};
    kiln_assert_status_ok(measure_made_up(&m, &c, &err), &err);
    assert_int_equal(c.load_ports, 2);
    near(c.l2_rate, 24, 0.05);
    /* Nor is the last cache what the system says: the most of it that was as fast. */
    assert_true(c.l3_kib <= 12288 && c.l3_kib * 2 >= 12288);
}

/* A core that another thread shares, of two load ports: streams sustain 1.45 loads a
 * cycle, and in nine of ten slices most of L2 is the other's. */
static void busy_slice(void *cx, const kiln_machine_probe *p, double *unit_ns,
                       double *cycle_ns, bool *disturbed) {
    machine *m = cx;
    made_up_slice(cx, p, unit_ns, cycle_ns, disturbed);
    if (p->kind == KILN_PROBE_LOAD)
        *unit_ns *= 2 / 1.45;
    const bool is_l2 = p->kind == KILN_PROBE_READ && p->level == 1;
    if (is_l2 && random_share(&m->rng) < 0.9)
        *unit_ns *= 1 + (double)p->bytes / (double)m->profile.l2_bytes;
}

static void sees_past_a_busy_neighbour(void **state) {
    (void)state;
    const made_up is = {"",    CORE(2, 4, 2, 1, 48, 10, 5, 48, 2048, 65536, 500, 17, 9),
                        64,    2,
                        48,    2048,
                        65536, 0.02,
                        0.1};
    machine m = machine_of(&is);
    kiln_machine_probes probes;
    kiln_machine_reading r[KILN_MAX_PROBES];
    const kiln_machine_meter meter = {busy_slice, NULL, NULL, &m};
    kiln_core c;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_machine_probes_make(kiln_test_arena(), &m.profile, false, &probes, &err),
        &err);
    kiln_machine_sample(&meter, &probes, r);
    kiln_assert_status_ok(kiln_machine_core(&m.profile, &probes, r, &c, &err), &err);
    assert_int_equal(c.load_ports, 2);
    assert_int_equal(c.store_ports, 1); /* noise is not one more */
    near(c.l2_rate, 48, 0.05);
    assert_true(c.l2_kib >= 1792);
}

/* What no core is: refused, not rounded to one. */
typedef struct wrong {
    const char *name;
    kiln_machine_probe_kind kind;
    double factor; /* on what such probes take, on a machine of two ports */
    const char *text;
} wrong;

static wrong wrongs[] = {
    {"ports_are_whole", KILN_PROBE_FMA, 1.35,
     "'fma_ports' must be a whole number from 1 to 16, measured 1.48"},
    {"ports_are_few", KILN_PROBE_FMA, 0.02,
     "'fma_ports' must be a whole number from 1 to 16"},
    {"latency_is_bounded", KILN_PROBE_LATENCY, 40,
     "'fma_latency' must be a whole number from 1 to 64"},
};

static const wrong *wrong_now;

static void wrong_slice(void *cx, const kiln_machine_probe *p, double *unit_ns,
                        double *cycle_ns, bool *disturbed) {
    made_up_slice(cx, p, unit_ns, cycle_ns, disturbed);
    if (p->kind == wrong_now->kind)
        *unit_ns *= wrong_now->factor;
}

static void refuses_nonsense(void **state) {
    machine m = machine_of(&machines[0]);
    kiln_machine_probes probes;
    kiln_machine_reading r[KILN_MAX_PROBES];
    kiln_core c = {.fma_ports = 77};
    kiln_err err = {0};
    const kiln_machine_meter meter = {wrong_slice, NULL, NULL, &m};
    wrong_now = *state;
    kiln_assert_status_ok(
        kiln_machine_probes_make(kiln_test_arena(), &m.profile, false, &probes, &err),
        &err);
    kiln_machine_sample(&meter, &probes, r);
    kiln_assert_fails(kiln_machine_core(&m.profile, &probes, r, &c, &err), KILN_ERR_IO,
                      &err, wrong_now->text);
    assert_int_equal(c.fma_ports, 77);
}

/* ---- the document ---------------------------------------------------------------- */

static kiln_machine_model example(const kiln_profile *native) {
    kiln_machine_model m = {.core = native->core,
                            .clock_ghz = 3.25,
                            .spread = 0.0625,
                            .seconds = 2.5,
                            .slices = 300,
                            .disturbed = 7,
                            .time_ms = INT64_C(1795000000000),
                            .kiln = "0.1.0"};
    m.core.l2_rate = 51;
    m.core.l3_rate = 23;
    m.core.memory_rate = 7;
    m.core.l2_kib = 896;
    m.core.memory_latency = 433;
    m.core.memory_rate_all = 11;
    return m;
}

static kiln_profile native_here(void) {
    kiln_profile p;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &p, &err), &err);
    return p;
}

static void a_document_reads_back(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const kiln_profile p = native_here();
    const kiln_machine_model m = example(&p), *back = NULL;
    const kiln_json *json = NULL;
    kiln_err err = {0};
    kiln_buf first, second;
    kiln_buf_init(&first, a);
    kiln_buf_init(&second, a);
    kiln_machine_document(&first, &p, &m);
    kiln_assert_status_ok(
        kiln_json_parse(a, kiln_buf_str(&first), "machine", &json, &err), &err);
    kiln_assert_status_ok(
        kiln_machine_read_document(a, json, "machine", &p, &back, &err), &err);
    assert_non_null(back);
    kiln_machine_document(&second, &p, back);
    kiln_assert_text_equal(kiln_buf_str(&second), kiln_buf_str(&first));
    kiln_profile other = p;
    other.l2_bytes *= 2;
    kiln_assert_status_ok(
        kiln_machine_read_document(a, json, "machine", &other, &back, &err), &err);
    assert_null(back); /* a home folder that two machines share */
}

typedef struct bad_row {
    const char *name, *from, *to;
    kiln_status want;
    const char *text;
} bad_row;

static bad_row bad_rows[] = {
    {"of_a_newer_kiln", "\"kiln_machine\": 1", "\"kiln_machine\": 2",
     KILN_ERR_UNSUPPORTED, "reads measured machines of version 1, not 2"},
    {"no_version", "\"kiln_machine\"", "\"machine\"", KILN_ERR_PARSE,
     "'kiln_machine' must be a whole number in range"},
    {"spread_is_a_number", "0.0625", "\"wide\"", KILN_ERR_PARSE,
     "'spread' must be in range"},
    {"time_does_not_run_backwards", "1795000000000", "-1", KILN_ERR_PARSE,
     "'time_ms' must be a whole number in range"},
    {"more_disturbed_than_there_are", "\"disturbed\": 7", "\"disturbed\": 301",
     KILN_ERR_PARSE, "'disturbed' must be a whole number in range"},
    {"a_core_has_ports", "\"fma_ports\": ", "\"fma_ports\": 0", KILN_ERR_PARSE,
     "'core.fma_ports' must be a whole number from 1 to 16"},
    {"memory_is_no_faster_than_a_cache", "\"memory_rate\": 7", "\"memory_rate\": 700",
     KILN_ERR_PARSE, "'core.memory_rate' must be at most 'core.l2_rate'"},
    {"a_cache_is_not_negative", "\"l2_kib\": 896", "\"l2_kib\": -1", KILN_ERR_PARSE,
     "'core.l2_kib' must be a whole number from 0"},
    {"a_core_is_there", "\"core\"", "\"cores\"", KILN_ERR_PARSE,
     "'core' must be an object"},
};

static void refuses_a_bad_document(void **state) {
    const bad_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_profile p = native_here();
    const kiln_machine_model m = example(&p), *back = NULL;
    const kiln_json *json = NULL;
    kiln_err err = {0};
    kiln_buf good, bad;
    kiln_buf_init(&good, a);
    kiln_buf_init(&bad, a);
    kiln_machine_document(&good, &p, &m);
    const char *at = strstr(good.p, r->from);
    assert_non_null(at);
    kiln_buf_add(&bad, good.p, (size_t)(at - good.p));
    kiln_buf_puts(&bad, r->to);
    at += strlen(r->from);
    if (strcmp(r->name, "a_core_has_ports") == 0)
        at += strcspn(at, ","); /* whatever this machine has */
    kiln_buf_puts(&bad, at);
    kiln_assert_status_ok(
        kiln_json_parse(a, kiln_buf_str(&bad), "machine", &json, &err), &err);
    kiln_assert_fails(kiln_machine_read_document(a, json, "machine", &p, &back, &err),
                      r->want, &err, r->text);
    assert_null(back);
}

/* ---- kept ------------------------------------------------------------------------ */

static void key_of(const kiln_profile *p, char key[KILN_SHA256_HEX]) {
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_profile_json(&text, p);
    kiln_db_profile_key(text.p, key);
}

static void native_reads_what_is_kept(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const kiln_profile plain = native_here();
    const kiln_machine_model m = example(&plain);
    const char *path = NULL;
    kiln_profile p;
    kiln_err err = {0};
    char before[KILN_SHA256_HEX], after[KILN_SHA256_HEX];
    assert_int_equal(setenv("XDG_DATA_HOME", kiln_test_dir(), 1), 0);
    kiln_assert_status_ok(kiln_machine_find(a, "native", &p, &err), &err);
    assert_int_equal(p.core.l2_rate, plain.core.l2_rate);
    kiln_assert_status_ok(kiln_machine_keep(a, &plain, &m, &path, &err), &err);
    assert_true(kiln_file_exists(path));
    kiln_assert_status_ok(kiln_machine_find(a, "native", &p, &err), &err);
    assert_int_equal(p.core.l2_rate, 51);
    assert_int_equal(p.core.memory_latency, 433);
    /* Records of tuning go on counting. */
    key_of(&plain, before);
    key_of(&p, after);
    assert_string_equal(after, before);
    kiln_assert_status_ok(kiln_machine_find(a, "x86-avx2", &p, &err), &err);
    assert_int_equal(p.core.memory_latency, 0);
    kiln_assert_status_ok(kiln_file_write(path, "{", 1, &err), &err);
    kiln_assert_fails(kiln_machine_find(a, "native", &p, &err), KILN_ERR_PARSE, &err,
                      path);
}

/* ---- this machine ---------------------------------------------------------------- */

static void this_machine_is_possible(void **state) {
    (void)state;
    const kiln_profile p = native_here();
    kiln_machine_model m;
    kiln_err err = {0};
    const kiln_status st = kiln_machine_measure(kiln_test_arena(), &p, &m, &err);
    if (st == KILN_ERR_IO && strstr(err.text, "others were at work") != NULL)
        kiln_test_skip("others were at work");
    kiln_assert_status_ok(st, &err);
    const kiln_core *c = &m.core;
    assert_true(m.clock_ghz > 0.1 && m.clock_ghz < 10);
    assert_true(c->fma_ports >= 1 && c->fma_ports <= 8);
    assert_true(c->fma_latency >= 1 && c->fma_latency <= 16);
    assert_true(c->load_ports >= 1 && c->load_ports <= 8);
    assert_true(c->store_ports >= 1 && c->store_ports <= 8);
    assert_true(c->l2_rate >= c->memory_rate && c->l2_rate <= 512);
    assert_true(c->memory_latency > 0 && c->memory_latency < 10000);
    assert_true((int64_t)c->l2_kib * 1024 <= p.l2_bytes);
    assert_true(m.slices > 0 && m.disturbed <= m.slices && m.spread >= 0);
}

static void a_child_that_fails_is_an_error(void **state) {
    (void)state;
    const kiln_profile p = native_here();
    kiln_machine_probes probes;
    kiln_machine_reading r[KILN_MAX_PROBES];
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_machine_probes_make(kiln_test_arena(), &p, false, &probes, &err), &err);
    probes.chain.bytes = KILN_STR_LIT("no object");
    probes.chain_name = "none";
    kiln_assert_fails(kiln_machine_child(&probes, r, &err), KILN_ERR_IO, &err,
                      "did not come to its end");
}

int main(void) {
    kiln_test_add_rows(recovers_a_made_up_machine, machines);
    kiln_test_add("counts_ports_beside_a_neighbour", counts_ports_beside_a_neighbour,
                  NULL);
    kiln_test_add("sees_past_a_busy_neighbour", sees_past_a_busy_neighbour, NULL);
    kiln_test_add_rows(refuses_nonsense, wrongs);
    kiln_test_add("a_document_reads_back", a_document_reads_back, NULL);
    kiln_test_add_rows(refuses_a_bad_document, bad_rows);
    kiln_test_add("native_reads_what_is_kept", native_reads_what_is_kept, NULL);
    kiln_test_add("this_machine_is_possible", this_machine_is_possible, NULL);
    kiln_test_add("a_child_that_fails_is_an_error", a_child_that_fails_is_an_error,
                  NULL);
    return kiln_test_run("machine");
}
