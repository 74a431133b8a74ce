/* This machine's GPUs: what drivers say becomes profiles that read back, none is a clear
 * line, and PoCL's device is found where it is. */
#include "pipeline/machine/machine_internal.h"
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *name;
    kiln_gpu_facts facts;
    const char *profile; /* NULL: none, for want of what `cpu` says */
    const char *cpu;
    kiln_gpu want;
} row;

static row rows[] = {
    {"h200",
     {.kind = "cuda",
      .title = "NVIDIA H200",
      .has_f16 = 1,
      .capability = 90,
      .warp = 32,
      .block_threads = 1024,
      .shared_bytes = 49152,
      .shared_most_bytes = 232448,
      .processors = 132,
      .processor_threads = 2048,
      .processor_registers = 65536,
      .clock_khz = 1980000,
      .memory_clock_khz = 3201000,
      .memory_bus_bits = 6144,
      .l2_bytes = 62914560},
     "cuda-sm90-nvidia-h200",
     "sm_90",
     {32, 1024, 49152, 255, 132, 2048, 65536, 66908, 4917, 61440, true}},
    {"newer_than_what_ships",
     {.kind = "cuda",
      .title = "NVIDIA RTX (made up)",
      .capability = 120,
      .processors = 10},
     "cuda-sm90-nvidia-rtx-made-up",
     "sm_90",
     {32, 1024, 49152, 255, 10, 2048, 65536, 5068, 3350, 51200, true}},
    {"between",
     {.kind = "cuda",
      .title = "A10",
      .capability = 86,
      .processors = 72,
      .clock_khz = 1695000,
      .processor_threads = 1536},
     "cuda-sm80-a10",
     "sm_80",
     {32, 1024, 49152, 255, 72, 1536, 65536, 31242, 1555, 40960, true}},
    {"too_old",
     {.kind = "cuda", .title = "GTX 1080", .capability = 61},
     NULL,
     "its compute capability is 6.1, kiln makes code from 7.0 on",
     {0}},
    {"a_phone",
     {.kind = "opencl",
      .title = "ARM Platform: Mali-G710",
      .has_f16 = 1,
      .block_threads = 1024,
      .shared_bytes = 32768,
      .processors = 10,
      .clock_khz = 850000},
     "opencl-mali-mali-g710",
     "mali",
     {8, 1024, 32768, 64, 10, 384, 32768, 417, 30, 2048, false}},
    {"what_makes_no_sense_is_held_to_a_profile_s_limits",
     {.kind = "opencl",
      .title = "",
      .block_threads = INT32_MAX,
      .shared_bytes = INT32_MAX,
      .processors = INT32_MAX,
      .clock_khz = INT32_MAX,
      .memory_clock_khz = INT32_MAX,
      .memory_bus_bits = INT32_MAX,
      .l2_bytes = INT64_MAX},
     "opencl-generic",
     "generic",
     {32, 65536, 1 << 24, 64, 65536, 1024, 65536, 8192000, 1 << 30, 1 << 30, false}},
};

static void reads_back(const kiln_profile *p) {
    kiln_arena *a = kiln_test_arena();
    kiln_buf text;
    kiln_err err = {0};
    const kiln_json *json = NULL;
    kiln_profile again;
    kiln_buf_init(&text, a);
    kiln_profile_document(&text, p);
    kiln_assert_status_ok(
        kiln_json_parse(a, kiln_buf_str(&text), "gpu.json", &json, &err), &err);
    kiln_assert_status_ok(kiln_profile_read(a, json, "gpu.json", &again, &err), &err);
    assert_true(kiln_profile_is_gpu(&again));
    assert_string_equal(again.name, p->name);
    assert_memory_equal(&again.gpu, &p->gpu, sizeof p->gpu);
}

static void a_driver_s_words_become_a_profile(void **state) {
    const row *r = *state;
    kiln_machine_gpu got;
    kiln_machine_gpu_of(kiln_test_arena(), &r->facts, &got);
    assert_string_equal(got.title, r->facts.title);
    if (r->profile == NULL) {
        assert_string_equal(got.problem, r->cpu);
        return;
    }
    assert_null(got.problem);
    assert_string_equal(got.profile.name, r->profile);
    assert_string_equal(got.profile.cpu, r->cpu);
    const kiln_gpu *g = &got.profile.gpu, *w = &r->want;
    const int64_t
        have[] = {g->warp,        g->block_threads,       g->shared_bytes,
                  g->registers,   g->processors,          g->processor_threads,
                  g->peak_gflops, g->processor_registers, g->memory_gbs,
                  g->l2_kib,      g->has_tensor_cores},
        want[] = {w->warp,        w->block_threads,       w->shared_bytes,
                  w->registers,   w->processors,          w->processor_threads,
                  w->peak_gflops, w->processor_registers, w->memory_gbs,
                  w->l2_kib,      w->has_tensor_cores};
    for (size_t i = 0; i < sizeof have / sizeof have[0]; i++)
        assert_int_equal(have[i], want[i]);
    reads_back(&got.profile);
}

static const kiln_machine_gpu *first_of(const kiln_machine_gpus *all,
                                        const char *kind) {
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->gpu[i].kind, kind) == 0)
            return &all->gpu[i];
    fail_msg("the kind %s is not mentioned", kind);
    return NULL;
}

/* Before others: a library that is open stays open. */
static void without_drivers_there_is_a_line_each(void **state) {
    (void)state;
    assert_int_equal(setenv("KILN_CUDA_LIBRARY", "libnonesuch.so.1", 1), 0);
    assert_int_equal(setenv("KILN_OPENCL_LIBRARY", "libnonesuch.so.1", 1), 0);
    const kiln_machine_gpus all = kiln_machine_gpus_here(kiln_test_arena());
    assert_int_equal(all.n, 2);
    for (int i = 0; i < all.n; i++)
        assert_null(all.gpu[i].title);
    assert_non_null(strstr(all.gpu[0].problem, "needs an NVIDIA GPU and its driver"));
    assert_non_null(strstr(all.gpu[1].problem, "libnonesuch.so.1"));
}

static void made_up_drivers_show_theirs(void **state) {
    (void)state;
    const char *folder = getenv("KILN_LIBEXEC");
    const char *path = kiln_format(kiln_test_arena(), "%s/tests/tools/fake_cuda.so",
                                   folder != NULL ? folder : ".");
    if (!kiln_file_exists(path))
        kiln_test_skip("there is no %s: make quick builds it", path);
    assert_int_equal(setenv("KILN_CUDA_LIBRARY", path, 1), 0);
    const kiln_machine_gpus all = kiln_machine_gpus_here(kiln_test_arena());
    const kiln_machine_gpu *g = first_of(&all, "cuda");
    assert_null(g->problem);
    assert_string_equal(g->profile.name, "cuda-sm80-made-up-40");
    reads_back(&g->profile);
}

static void pocl_is_found(void **state) {
    (void)state;
    assert_int_equal(unsetenv("KILN_OPENCL_LIBRARY"), 0);
    const kiln_machine_gpus all = kiln_machine_gpus_here(kiln_test_arena());
    const kiln_machine_gpu *g = first_of(&all, "opencl");
    if (g->title == NULL)
        kiln_test_skip("%s", g->problem);
    assert_null(g->problem);
    assert_non_null(strstr(g->text, "processors at"));
    reads_back(&g->profile);
}

int main(void) {
    kiln_test_add_rows(a_driver_s_words_become_a_profile, rows);
    kiln_test_add("without_drivers_there_is_a_line_each",
                  without_drivers_there_is_a_line_each, NULL);
    kiln_test_add("made_up_drivers_show_theirs", made_up_drivers_show_theirs, NULL);
    kiln_test_add("pocl_is_found", pocl_is_found, NULL);
    return kiln_test_run("GPUs of this machine");
}
