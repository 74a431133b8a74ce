/* What differs between two packages, without a clock: versions, memory, and step by
 * step where its kernel came from and what it is. */
#include "pipeline/gate/gate.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"

#include <string.h>

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

enum { N_KERNELS = 2, N_ENTRIES = 3, MAX_WANT = 3 };

/* A package of two kernels, four steps. */
typedef struct sample {
    kiln_package_facts facts;
    kiln_package_kernel kernel[N_KERNELS];
    kiln_package_entry entry[N_ENTRIES];
    kiln_package_reads reads; /* beside the package as it is at first */
    const char *first[3], *second[1];
} sample;

static void sample_init(sample *s) {
    *s = (sample){.facts = {.model = "m",
                            .version = "1",
                            .source_sha256 = SHA_A,
                            .kiln_version = "0.1.0",
                            .llvm_version = "19",
                            .lld_version = "LLD 19",
                            .memory = {.arena = 100, .params = 50},
                            .n_kernels = N_KERNELS,
                            .n_entries = N_ENTRIES},
                  .reads = {true, true, 64, 64},
                  .first = {"conv1", "conv2", "conv3"},
                  .second = {"fc"},
                  .entry = {{"lib.so", 10, SHA_A},
                            {"params.safetensors", 20, SHA_A},
                            {"plan.bin", 30, SHA_A}}};
    s->kernel[0] = (kiln_package_kernel){.symbol = "k0",
                                         .origin = "tuned",
                                         .tmpl = "conv_direct",
                                         .config = "{\"tile\":4}",
                                         .workload = "conv a",
                                         .step = s->first,
                                         .n_steps = 3,
                                         .code_sha256 = SHA_A,
                                         .code_bytes = 1000};
    s->kernel[1] = (kiln_package_kernel){.symbol = "k1",
                                         .origin = "default",
                                         .tmpl = "gemm",
                                         .config = "{}",
                                         .workload = "matmul b",
                                         .step = s->second,
                                         .n_steps = 1,
                                         .code_sha256 = SHA_A,
                                         .code_bytes = 500};
    s->facts.kernel = s->kernel;
    s->facts.entry = s->entry;
}

typedef struct row {
    const char *name;
    void (*change)(sample *candidate);
    bool is_equal;
    const char *want[MAX_WANT]; /* all there is, in order */
} row;

static void nothing(sample *s) { (void)s; }
static void version(sample *s) {
    s->facts.version = "2";
    s->facts.llvm_version = "20";
}
static void memory(sample *s) {
    s->facts.memory.arena = 120;
    s->facts.memory.workspace = 7;
}
static void origin(sample *s) { s->kernel[0].origin = "default"; }
static void everything_of_a_kernel(sample *s) {
    s->kernel[0].tmpl = "generic";
    s->kernel[0].config = "{\"tile\":8}";
    s->kernel[0].code_sha256 = SHA_B;
    s->kernel[0].code_bytes = 1200;
}
static void knobs(sample *s) { s->kernel[0].config = "{\"tile\":8,\"unroll\":2}"; }
static void knob_gone(sample *s) { s->kernel[0].config = "{}"; }
static void commits(sample *s) {
    s->facts.kiln_commit = "0123456789abcdef0123456789abcdef01234567";
}
static void code_of_one_size(sample *s) { s->kernel[1].code_sha256 = SHA_B; }
static void code_not_known(sample *s) { s->kernel[1].code_sha256 = NULL; }
static void other_symbols(sample *s) {
    const kiln_package_kernel k = s->kernel[0];
    s->kernel[0] = s->kernel[1];
    s->kernel[1] = k;
    s->kernel[0].symbol = "k0";
    s->kernel[1].symbol = "k1";
}
static void step_gone(sample *s) { s->kernel[0].n_steps = 2; }
static void step_new(sample *s) { s->second[0] = "fc2"; }
/* Two of three steps go to another kernel. */
static void step_moved(sample *s) {
    s->kernel[0].n_steps = 1;
    s->kernel[1].step = s->first + 1;
    s->kernel[1].n_steps = 2;
}
static void plan(sample *s) {
    memcpy(s->entry[2].sha256, SHA_B, sizeof SHA_B);
    s->reads.same_plan = false;
}
static void params(sample *s) {
    memcpy(s->entry[1].sha256, SHA_B, sizeof SHA_B);
    s->reads.same_params = false;
}
static void params_of_another_size(sample *s) {
    params(s);
    s->entry[1].bytes = 148;
    s->reads.param_bytes = 192;
}
/* In a file that others have parameters in. */
static void params_elsewhere(sample *s) {
    plan(s);
    params_of_another_size(s);
    s->facts.memory.params = 178;
    s->reads = (kiln_package_reads){true, true, 64, 64};
}
static void lib(sample *s) {
    memcpy(s->entry[0].sha256, SHA_B, sizeof SHA_B);
    s->entry[0].bytes = 12;
}
static void no_lib(sample *s) { s->entry[0].name = "lib.a"; }

static row rows[] = {
    {"the_same", nothing, true, {NULL}},
    {"versions", version, true, {"version of the model 1 -> 2", "LLVM 19 -> 20"}},
    {"memory",
     memory,
     true,
     {"activations 100 -> 120 bytes", "workspace 0 -> 7 bytes"}},
    {"origin", origin, true, {"step 'conv1' and 2 more: origin tuned -> default"}},
    {"everything_of_a_kernel",
     everything_of_a_kernel,
     true,
     {"step 'conv1' and 2 more: template conv_direct -> generic; code 1000 -> 1200 "
      "bytes"}},
    {"knobs", knobs, true, {"step 'conv1' and 2 more: tile 4 -> 8, unroll none -> 2"}},
    {"knob_gone", knob_gone, true, {"step 'conv1' and 2 more: tile 4 -> none"}},
    {"commits",
     commits,
     true,
     {"kiln's commit unknown -> 0123456789abcdef0123456789abcdef01234567"}},
    {"code_of_one_size",
     code_of_one_size,
     true,
     {"step 'fc': code of as many bytes (500) changed"}},
    {"code_not_known", code_not_known, true, {NULL}},
    {"other_symbols", other_symbols, true, {NULL}},
    {"step_gone", step_gone, true, {"step 'conv3' is gone"}},
    {"step_new",
     step_new,
     true,
     {"step 'fc2' is new: template gemm, origin default", "step 'fc' is gone"}},
    {"step_moved",
     step_moved,
     true,
     {"step 'conv2' and 1 more: work conv a -> matmul b; origin tuned -> default; "
      "template conv_direct -> gemm",
      "step 'fc' is gone"}},
    {"plan", plan, false, {"plan.bin has other contents"}},
    {"params", params, false, {"parameters have other contents"}},
    {"params_of_another_size",
     params_of_another_size,
     false,
     {"parameters 64 -> 192 bytes"}},
    {"params_elsewhere", params_elsewhere, true, {NULL}},
    {"lib", lib, false, {"lib.so 10 -> 12 bytes"}},
    {"no_lib", no_lib, false, {NULL}},
};

static void check(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    sample candidate, control;
    kiln_gate_structure s;
    sample_init(&candidate);
    sample_init(&control);
    r->change(&candidate);
    kiln_gate_compare(&a, &candidate.facts, &control.facts, &candidate.reads, &s);
    for (size_t i = 0; i < s.change.n; i++)
        print_message("%s\n", s.change.v[i]);
    for (size_t i = 0; i < MAX_WANT && r->want[i] != NULL; i++) {
        assert_true(i < s.change.n);
        assert_string_equal(s.change.v[i], r->want[i]);
    }
    assert_true(s.change.n == MAX_WANT || r->want[s.change.n] == NULL);
    assert_int_equal(s.is_equal, r->is_equal);
    kiln_arena_fini(&a);
}

/* Hundreds of changes are not listed one by one. */
static void long_lists_are_cut(void **state) {
    (void)state;
    enum { N = 300 };
    kiln_arena a = {0};
    sample candidate, control;
    kiln_gate_structure s;
    const char *step[N];
    for (int i = 0; i < N; i++)
        step[i] = kiln_format(&a, "s%d", i);
    sample_init(&candidate);
    sample_init(&control);
    candidate.kernel[0].step = step;
    candidate.kernel[0].n_steps = N;
    kiln_gate_compare(&a, &candidate.facts, &control.facts, &candidate.reads, &s);
    assert_int_equal(s.change.n, 201);
    assert_string_equal(s.change.v[200], "and 103 more"); /* 300 new and 3 gone */
    kiln_arena_fini(&a);
}

/* ---- code ------------------------------------------------------------------------ */

static const char one[] =
    "graph \"one\" { input %x : f32[1,8,6,6] input %w : f32[8,8,3,3] "
    "%c = conv(%x, %w) {pads=[1,1,1,1]} output %c }";
/* The same convolution behind another kernel: its symbol and its place are others. */
static const char behind[] =
    "graph \"two\" { input %x : f32[1,4,6,6] input %w : f32[8,8,3,3] "
    "input %v : f32[8,4,1,1] %b = conv(%x, %v) %s = softmax(%b) "
    "%c = conv(%s, %w) {pads=[1,1,1,1]} output %c }";

static const kiln_package_kernel *find_kernel(const kiln_package_facts *f,
                                              const char *work) {
    for (size_t i = 0; i < f->n_kernels; i++)
        if (strcmp(f->kernel[i].workload, work) == 0)
            return &f->kernel[i];
    return NULL;
}

static void code_is_known_under_any_symbol(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_package x, y;
    size_t n_equal = 0;
    kiln_test_package(&a, one, NULL, &x);
    kiln_test_package(&a, behind, NULL, &y);
    for (size_t i = 0; i < x.facts.n_kernels; i++) {
        const kiln_package_kernel *k = &x.facts.kernel[i];
        /* Conversions of one name differ by the layouts that they convert. */
        const bool is_conv = strncmp(k->workload, "conv", 4) == 0;
        const kiln_package_kernel *same =
            is_conv ? find_kernel(&y.facts, k->workload) : NULL;
        assert_int_equal(strlen(k->code_sha256), 64);
        assert_true(k->code_bytes > 0);
        if (same == NULL || strcmp(same->config, k->config) != 0)
            continue;
        print_message("%s: %s and %s\n", k->workload, k->symbol, same->symbol);
        assert_string_not_equal(k->symbol, same->symbol);
        assert_string_equal(k->code_sha256, same->code_sha256);
        assert_int_equal(k->code_bytes, same->code_bytes);
        n_equal++;
    }
    assert_true(n_equal >= 1);
    for (size_t i = 0; i < y.facts.n_kernels; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(y.facts.kernel[i].code_sha256,
                                    y.facts.kernel[k].code_sha256);
    kiln_arena_fini(&a);
}

static void what_is_no_object_is_refused(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *sha256 = NULL;
    int64_t bytes = 0;
    kiln_assert_fails(kiln_package_code_of(kiln_test_arena(), KILN_ARCH_X86_64,
                                           KILN_STR_LIT("no object"), &sha256, &bytes,
                                           &err),
                      KILN_ERR_PARSE, &err, "an object: ");
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("long_lists_are_cut", long_lists_are_cut, NULL);
    kiln_test_add("code_is_known_under_any_symbol", code_is_known_under_any_symbol,
                  NULL);
    kiln_test_add("what_is_no_object_is_refused", what_is_no_object_is_refused, NULL);
    return kiln_test_run("gate: structure");
}
