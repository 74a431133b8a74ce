/* Profiles: the table, JSON both ways, detection, what runs where. */
#include "compiler/target/target.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those of CPUs, then those of GPUs; NULL past the end. */
static const kiln_profile *any_at(int i) {
    int n = 0;
    while (kiln_profile_at(n) != NULL)
        n++;
    return i < n ? kiln_profile_at(i) : kiln_gpu_profile_at(i - n);
}

static void shipped_ones_read_back(void **state) {
    kiln_arena *a = kiln_test_arena();
    (void)state;
    for (int i = 0; any_at(i) != NULL; i++) {
        const kiln_profile *p = any_at(i);
        kiln_profile q;
        kiln_err err = {0};
        kiln_buf first, second;
        kiln_buf_init(&first, a);
        kiln_buf_init(&second, a);
        kiln_profile_json(&first, p);
        const char *path = kiln_path_join(a, kiln_test_dir(), "p.json");
        kiln_assert_status_ok(kiln_file_write(path, first.p, first.n, &err), &err);
        kiln_assert_status_ok(kiln_profile_find(a, path, &q, &err), &err);
        kiln_profile_json(&second, &q);
        kiln_assert_text_equal(kiln_buf_str(&second), kiln_buf_str(&first));
        kiln_assert_status_ok(kiln_profile_find(a, p->name, &q, &err), &err);
        assert_string_equal(q.triple, p->triple);
    }
}

static void a_gpu_says_all_of_its_limits(void **state) {
    static const struct {
        const char *from, *to, *says;
    } wrong[] = {
        {"\"warp\": 32", "\"warp\": 0", "'gpu.warp' must be a whole number"},
        {"\"warp\": 32,", "", "'gpu.warp' must be a whole number"},
        {"\"warp\"", "\"wrap\"", "'gpu' has no member 'wrap'"},
        {"\"shared_bytes\": 49152", "\"shared_bytes\": \"all\"",
         "'gpu.shared_bytes' must be a whole number"},
        {"\"has_tensor_cores\": true", "\"has_tensor_cores\": 1",
         "'gpu.has_tensor_cores' must be true or false"},
        {"\"host\": \"native\"", "\"host\": \"\"", "'host' must be"},
        {"\"arch\": \"nvptx\"", "\"arch\": \"x86_64\"", "'gpu' must be left out"},
        {"\"gpu\"", "\"core\"", "has no member"}};
    kiln_arena *a = kiln_test_arena();
    kiln_profile p;
    kiln_buf text;
    (void)state;
    kiln_buf_init(&text, a);
    kiln_profile_json(&text, kiln_gpu_profile_at(0));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *at = strstr(text.p, wrong[i].from);
        const char *path = kiln_path_join(a, kiln_test_dir(), "gpu.json");
        kiln_err err = {0};
        assert_non_null(at);
        const char *bad = kiln_format(a, "%.*s%s%s", (int)(at - text.p), text.p,
                                      wrong[i].to, at + strlen(wrong[i].from));
        kiln_assert_status_ok(kiln_file_write(path, bad, strlen(bad), &err), &err);
        kiln_assert_fails(kiln_profile_find(a, path, &p, &err), KILN_ERR_PARSE, &err,
                          wrong[i].says);
    }
}

/* How code is measured is in the file, and not in what records and packages are of. */
static void measuring_changes_no_code(void **state) {
    static const char *const names[] = {"onnxruntime", "onednn", NULL};
    kiln_arena *a = kiln_test_arena();
    kiln_profile p = *kiln_profile_at(0), q;
    const char *path = kiln_path_join(a, kiln_test_dir(), "p.json");
    kiln_err err = {0};
    kiln_buf plain, code, file, again;
    (void)state;
    kiln_buf_init(&plain, a);
    kiln_buf_init(&code, a);
    kiln_buf_init(&file, a);
    kiln_buf_init(&again, a);
    kiln_profile_json(&plain, &p);
    p.measure = "local";
    p.baseline = names;
    kiln_profile_json(&code, &p);
    kiln_assert_text_equal(kiln_buf_str(&code), kiln_buf_str(&plain));
    kiln_profile_document(&file, &p);
    assert_non_null(strstr(file.p, "\"measure\": \"local\",\n"
                                   "  \"baselines\": [\"onnxruntime\", \"onednn\"]"));
    kiln_assert_status_ok(kiln_file_write(path, file.p, file.n, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(a, path, &q, &err), &err);
    kiln_profile_document(&again, &q);
    kiln_assert_text_equal(kiln_buf_str(&again), kiln_buf_str(&file));
}

/* Older kilns' files say nothing about the core: that of the shipped profile with the
 * same vectors. Some of it may be said. */
static void a_core_may_be_left_out(void **state) {
    (void)state;
    static const char *const said[] = {"", ", \"core\": {\"fma_latency\": 6}"};
    kiln_arena *a = kiln_test_arena();
    for (int i = 0; kiln_profile_at(i) != NULL; i++)
        for (int k = 0; k < 2; k++) {
            const kiln_profile *p = kiln_profile_at(i);
            kiln_profile q;
            kiln_err err = {0};
            kiln_buf text;
            kiln_buf_init(&text, a);
            kiln_profile_json(&text, p);
            const char *core = strstr(text.p, ",\n  \"core\"");
            assert_non_null(core);
            const char *older =
                kiln_format(a, "%.*s%s}", (int)(core - text.p), text.p, said[k]);
            const kiln_json *json = NULL;
            kiln_assert_status_ok(
                kiln_json_parse(a, kiln_str_from(older), "older", &json, &err), &err);
            kiln_assert_status_ok(kiln_profile_read(a, json, "older", &q, &err), &err);
            assert_int_equal(q.core.fma_latency, k == 1 ? 6 : p->core.fma_latency);
            assert_true(q.core.fma_ports >= 1 && q.core.memory_rate >= 1);
            if (p->arch == kiln_profile_at(0)->arch)
                assert_int_equal(q.core.l2_rate, p->core.l2_rate);
        }
}

/* Counts are what rules divide by. */
static void shipped_cores_are_whole(void **state) {
    (void)state;
    for (int i = 0; kiln_profile_at(i) != NULL; i++) {
        const kiln_profile *p = kiln_profile_at(i);
        assert_true(p->core.fma_ports >= 1 && p->core.fma_latency >= 1);
        assert_true(p->core.load_ports >= 1 && p->core.store_ports >= 1);
        assert_true(p->core.l2_rate >= p->core.memory_rate);
        assert_int_equal(p->core.l3_rate > 0, p->l3_bytes > 0);
        assert_int_equal(kiln_rate_behind_l2(p),
                         p->l3_bytes > 0 ? p->core.l3_rate : p->core.memory_rate);
        assert_true(kiln_cache_l1(p) > 0 && kiln_cache_l2(p) >= kiln_cache_l1(p));
    }
}

/* What rules count on follows the fields; what is not said is common. */
/* Twice the ports, four at least, at a clock that nothing has. */
static void bounds_are_wide(void **state) {
    (void)state;
    kiln_profile p = *kiln_profile_at(0);
    p.vector_bytes = 64;
    p.core.fma_ports = p.core.store_ports = 2;
    assert_true(kiln_most_gflops(&p, 1) == 2 * 16 * 4 * 6.2);
    assert_true(kiln_most_gflops(&p, 2) == 2 * kiln_most_gflops(&p, 1));
    p.core.fma_ports = 1;
    assert_true(kiln_most_gflops(&p, 1) == 2 * 16 * 4 * 6.2);
    p.core.fma_ports = 4;
    assert_true(kiln_most_gflops(&p, 1) == 2 * 16 * 8 * 6.2);
    const double storing = kiln_least_ns(&p, 1, 0, 6.4e6),
                 multiplying = kiln_least_ns(&p, 1, 1e9, 0);
    assert_true(storing == 6.4e6 / (64 * (6.2 * 4)));
    assert_true(multiplying == 1e9 / kiln_most_gflops(&p, 1));
    assert_true(kiln_least_ns(&p, 1, 1e9, 6.4e6) == fmax(storing, multiplying));
    assert_true(kiln_least_ns(&p, 1, 0, 0) == 0);
}

static void rules_follow_the_model(void **state) {
    (void)state;
    kiln_profile p = *kiln_profile_at(0);
    p.l2_bytes = 1 << 20;
    p.l3_bytes = INT64_C(384) << 20;
    assert_int_equal(kiln_cache_last(&p), p.l3_bytes);
    assert_int_equal(kiln_cache_reach(&p), 32 << 20); /* a host's, not one core's */
    p.core.l3_kib = 64 << 10;                         /* as measured */
    assert_int_equal(kiln_cache_reach(&p), 64 << 20);
    p.core.l3_kib = 0;
    p.l3_bytes = 0;
    assert_int_equal(kiln_cache_reach(&p), p.l2_bytes);
    assert_int_equal(kiln_branch_cycles(&p), 20);
    const double before = kiln_call_cycles(&p);
    p.core.branch_cycles = 10;
    assert_true(kiln_call_cycles(&p) * 2 == before);
    /* A vector a cycle from L2 is one sum for each cycle of latency; half of one too,
     * since loads of what is near must not wait either; more than ports load, no more. */
    static const int l2_rate[] = {32, 64, 128, 256}, sums[] = {4, 4, 8, 8};
    for (int i = 0; i < 4; i++) {
        p.core.l2_rate = l2_rate[i];
        assert_int_equal(kiln_sums_of_loads(&p), sums[i]);
    }
    p.core.fma_ports = 1;
    assert_int_equal(kiln_sums_of_loads(&p), 4);
}

static void this_machine_runs_itself(void **state) {
    kiln_profile p;
    kiln_err err = {0};
    char missing[128];
    (void)state;
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &p, &err), &err);
    assert_true(kiln_profile_runs_on(&p, &p, missing));
    assert_true(p.cores >= 1 && p.vector_bytes >= 16);
    static const char *const least[KILN_N_ARCHS] = {[KILN_ARCH_X86_64] = "x86-baseline",
                                                    [KILN_ARCH_AARCH64] = "aarch64",
                                                    [KILN_ARCH_RISCV64] = "riscv64",
                                                    [KILN_ARCH_ARM] = "armv7-neon"};
    const char *base = least[p.arch];
    kiln_profile q;
    kiln_assert_status_ok(kiln_profile_find(kiln_test_arena(), base, &q, &err), &err);
    assert_true(kiln_profile_runs_on(&q, &p, missing));
}

/* Of the last cache, what one processor can use: not all that a package has of them. */
static void this_machine_has_its_own_caches(void **state) {
    kiln_profile p;
    kiln_err err = {0};
    char line[32] = "";
    (void)state;
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (f == NULL)
        kiln_test_skip("no third cache that the system tells of");
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &p, &err), &err);
    assert_int_equal(p.l3_bytes, strtoll(line, NULL, 10) * 1024);
    assert_true(p.l1d_bytes <= p.l2_bytes && p.l2_bytes <= p.l3_bytes);
}

typedef struct runs_row {
    const char *name, *profile, *machine, *missing; /* NULL: it runs */
} runs_row;

static runs_row runs_rows[] = {
    {"narrow_code_runs_on_a_wide_machine", "x86-baseline", "x86-avx512", NULL},
    {"wide_code_needs_wide_vectors", "x86-avx512", "x86-avx2",
     "'x86-avx512' needs wider vectors, which 'x86-avx2' has not"},
    {"a_cpu_runs_code_of_its_kind", "x86-avx512-vnni", "znver4", NULL},
    {"code_for_a_cpu_runs_on_others", "sapphirerapids", "znver4", NULL},
    {"a_small_core_runs_the_base", "aarch64", "cortex-a53", NULL},
    {"dot_products_need_them", "neoverse-n1", "cortex-a72",
     "'neoverse-n1' needs dotprod, which 'cortex-a72' has not"},
    {"products_of_matrices_need_them", "neoverse-v1", "neoverse-n1",
     "'neoverse-v1' needs bf16, which 'neoverse-n1' has not"},
    {"scalable_vectors_need_the_extension", "aarch64-sve256", "aarch64-dotprod",
     "'aarch64-sve256' needs wider vectors, which 'aarch64-dotprod' has not"},
    {"code_of_neon_runs_beside_it", "neoverse-n1", "aarch64-sve256", NULL},
    {"a_cpu_of_its_kind_runs_it", "aarch64-sve256", "neoverse-v1-sve", NULL},
    {"levels_are_their_kinds", "x86-64-v3", "x86-avx2", NULL},
    {"levels_are_their_kinds_too", "x86-avx512", "x86-64-v4", NULL},
    {"levels_need_the_ones_below", "x86-64-v4", "x86-64-v3",
     "'x86-64-v4' needs wider vectors, which 'x86-64-v3' has not"},
    {"vectors_need_the_extension", "riscv64-v128", "riscv64",
     "'riscv64-v128' needs more vector registers, which 'riscv64' has not"},
    {"scalar_code_runs_beside_vectors", "riscv64", "riscv64-v128", NULL},
    {"short_vectors_run_on_long_ones", "riscv64-v128", "riscv64-v256", NULL},
    {"long_vectors_need_them", "riscv64-v256", "riscv64-v128",
     "'riscv64-v256' needs wider vectors, which 'riscv64-v128' has not"},
    {"long_vectors_run_on_longer_ones", "riscv64-v256", "riscv64-v512", NULL},
    {"the_longest_need_them", "riscv64-v512", "riscv64-v256",
     "'riscv64-v512' needs wider vectors, which 'riscv64-v256' has not"},
    {"other_architecture", "aarch64", "x86-avx512",
     "'aarch64' needs aarch64, which 'x86-avx512' has not"},
};

/* Where vectors are as wide without an extension as with it, as several scalar
 * registers, their number tells. */
static void registers_must_be_there(void **state) {
    (void)state;
    kiln_profile p = *kiln_profile_at(0), machine = *kiln_profile_at(0);
    char missing[128];
    machine.name = "machine";
    machine.vector_registers = p.vector_registers + 1;
    assert_true(kiln_profile_runs_on(&p, &machine, missing));
    machine.vector_registers = p.vector_registers - 1;
    assert_false(kiln_profile_runs_on(&p, &machine, missing));
    assert_string_equal(missing,
                        kiln_format(kiln_test_arena(),
                                    "'%s' needs more vector registers, which 'machine' "
                                    "has not",
                                    p.name));
}

static void check_runs(void **state) {
    const runs_row *r = *state;
    kiln_profile p, machine;
    kiln_err err = {0};
    char missing[128];
    kiln_assert_status_ok(kiln_profile_find(kiln_test_arena(), r->profile, &p, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_profile_find(kiln_test_arena(), r->machine, &machine, &err), &err);
    assert_int_equal(kiln_profile_runs_on(&p, &machine, missing), r->missing == NULL);
    assert_string_equal(missing, r->missing != NULL ? r->missing : "");
}

/* One line of a good profile replaced. */
typedef struct bad_row {
    const char *name, *from, *to;
    kiln_status want;
    const char *text;
} bad_row;

static bad_row bad_rows[] = {
    {"arch_must_be_known", "\"x86_64\"", "\"mips\"", KILN_ERR_PARSE,
     "'arch' must be 'x86_64' or 'aarch64' or 'riscv64' or 'arm'"},
    {"vectors_are_a_power_of_two", "\"vector_bytes\": 64", "\"vector_bytes\": 48",
     KILN_ERR_PARSE, "'vector_bytes' must be 16, 32 or 64"},
    {"vectors_have_a_limit", "\"vector_bytes\": 64", "\"vector_bytes\": 128",
     KILN_ERR_PARSE, "'vector_bytes' must be a whole number from 16 to 64"},
    {"cpu_is_plain", "\"x86-64-v4\"", "\"a b\"", KILN_ERR_PARSE,
     "'cpu' must be letters, digits and '_-+,.'"},
    {"triple_is_a_string", "\"x86_64-unknown-linux-gnu\"", "3", KILN_ERR_PARSE,
     "'triple' must be a string"},
    {"measure_is_a_name", "\"name\"", "\"measure\": 3, \"name\"", KILN_ERR_PARSE,
     "'measure' must be a string"},
    {"measure_is_plain", "\"name\"", "\"measure\": \"a b\", \"name\"", KILN_ERR_PARSE,
     "'measure' must be a device's name"},
    {"baselines_are_a_list", "\"name\"", "\"baselines\": \"all\", \"name\"",
     KILN_ERR_PARSE, "'baselines' must be a list of at most 32 names"},
    {"baselines_are_names", "\"name\"", "\"baselines\": [\"tvm\", 3], \"name\"",
     KILN_ERR_PARSE, "'baselines' must be a list of names"},
    {"members_are_known", "\"cores\": 2", "\"cores\": 2, \"ports\": 4", KILN_ERR_PARSE,
     "a profile has no member 'ports'; 'kiln profile show native' prints all"},
    {"flags_are_true_or_false", "\"has_fma\": true", "\"has_fma\": \"yes\"",
     KILN_ERR_PARSE, "'has_fma' must be true or false"},
    {"a_core_has_ports", "\"fma_ports\": 2", "\"fma_ports\": 0", KILN_ERR_PARSE,
     "'core.fma_ports' must be a whole number from 1 to 16"},
    {"latency_is_whole", "\"fma_latency\": 4", "\"fma_latency\": 4.5", KILN_ERR_PARSE,
     "'core.fma_latency' must be a whole number from 1 to 64"},
    {"members_of_a_core_are_known", "\"fma_ports\": 2",
     "\"fma_ports\": 2, \"fma_port\": 2", KILN_ERR_PARSE,
     "a profile's 'core' has no member 'fma_port'"},
    {"a_core_is_an_object", "\"core\"", "\"core\": 3, \"other\"", KILN_ERR_PARSE,
     "a profile has no member 'other'"},
    {"cores_are_counted", "\"cores\": 2", "\"cores\": 0", KILN_ERR_PARSE,
     "'cores' must be a whole number from 1 to 4096"},
};

static void check_bad(void **state) {
    const bad_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_buf text;
    kiln_err err = {0};
    kiln_profile p;
    kiln_buf_init(&text, a);
    kiln_profile_json(&text, kiln_profile_at(0));
    const char *bad = kiln_test_replaced(text.p, r->from, r->to);
    const char *path = kiln_path_join(a, kiln_test_dir(), "bad.json");
    kiln_assert_status_ok(kiln_file_write(path, bad, strlen(bad), &err), &err);
    kiln_assert_fails(kiln_profile_find(a, path, &p, &err), r->want, &err, r->text);
}

static void refuses_an_unknown_name(void **state) {
    kiln_err err = {0};
    kiln_profile p;
    (void)state;
    kiln_assert_fails(kiln_profile_find(kiln_test_arena(), "x87", &p, &err),
                      KILN_ERR_ARG, &err, "'x87' is no profile and no file");
}

int main(void) {
    kiln_test_add("shipped_ones_read_back", shipped_ones_read_back, NULL);
    kiln_test_add("a_gpu_says_all_of_its_limits", a_gpu_says_all_of_its_limits, NULL);
    kiln_test_add("measuring_changes_no_code", measuring_changes_no_code, NULL);
    kiln_test_add("a_core_may_be_left_out", a_core_may_be_left_out, NULL);
    kiln_test_add("shipped_cores_are_whole", shipped_cores_are_whole, NULL);
    kiln_test_add("bounds_are_wide", bounds_are_wide, NULL);
    kiln_test_add("rules_follow_the_model", rules_follow_the_model, NULL);
    kiln_test_add("this_machine_runs_itself", this_machine_runs_itself, NULL);
    kiln_test_add("this_machine_has_its_own_caches", this_machine_has_its_own_caches,
                  NULL);
    kiln_test_add_rows(check_runs, runs_rows);
    kiln_test_add("registers_must_be_there", registers_must_be_there, NULL);
    kiln_test_add_rows(check_bad, bad_rows);
    kiln_test_add("refuses_an_unknown_name", refuses_an_unknown_name, NULL);
    return kiln_test_run("profile");
}
