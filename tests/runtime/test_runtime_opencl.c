/* The device "opencl" where this machine has one, such as PoCL's: what is told to it is
 * done as a model on the host does it, what cannot be is refused by name, and nothing
 * stays. Addresses by shared virtual memory and by buffers. */
#include "runtime/model_internal.h"
#include "tests/support/gpu/gpu_checks.h"
#include "tests/support/gpu/gpu_module_text.h"
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>

static kiln_gpu_row rows[] = {
    {"by_addresses", "opencl", "KILN_OPENCL_MEMORY", "addresses", NULL, 0},
    {"by_buffers", "opencl", "KILN_OPENCL_MEMORY", "buffers", NULL, 0}};

/* ---- modules ---------------------------------------------------------------------- */

typedef struct refusal {
    const char *name, *kernels, *code, *text;
    kiln_gpu_language language;
} refusal;
static refusal refusals[] = {
    {.name = "code_that_does_not_build",
     .kernels = "kernel k 1 0\nlaunch k 1 1 1 1 1 1 o0\n",
     .code = "kernel void k(global float *x) { x[0] = nonesuch; }\n",
     .text = "nonesuch"},
    {.name = "an_entry_that_is_not_there",
     .kernels = "kernel k 1 0\nlaunch other 1 1 1 1 1 1 o0\n",
     .code = "kernel void k(global float *x) { x[0] = 1; }\n",
     .text = "the OpenCL code has no entry 'other'"},
    {.name = "an_entry_of_more_arguments",
     .kernels = "kernel k 1 0\nlaunch k 1 1 1 1 1 1 o0\n",
     .code = "kernel void k(global float *x, long n) { x[n] = 1; }\n",
     .text = "entry 'k' of the OpenCL code has 2 arguments, its launch 1"},
    {.name = "groups_that_are_too_large",
     .kernels = "kernel k 1 0\nlaunch k 1 1 1 256 256 1 o0\n",
     .code = "kernel void k(global float *x) { x[0] = 1; }\n",
     .text =
         "entry 'k' wants groups of 65536 work items, this OpenCL device has at most"},
    {.name = "another_language",
     .kernels = "kernel k 1 0\nlaunch k 1 1 1 1 1 1 o0\n",
     .code = ".version 7.0\n",
     .text = "device 'opencl' takes OpenCL C, the module is PTX",
     .language = KILN_GPU_PTX},
};

static void refuses(void **state) {
    const refusal *r = *state;
    kiln_arena *a = kiln_test_arena();
    char error[KILN_ERROR_TEXT] = "";
    kiln_device_image image = {0};
    kiln_device_module *m = NULL;
    kiln_gpu_trial t;
    kiln_gpu_row_open(&rows[0], &t);
    const int live = kiln_gpu_row_live();
    image.bytes =
        kiln_gpu_module_text(a, r->language != 0 ? r->language : KILN_GPU_OPENCL_C,
                             r->kernels, r->code, &image.n);
    assert_int_equal(t.kind->module_open(t.device, &image, &m, error), -1);
    if (strstr(error, r->text) == NULL)
        fail_msg("'%s' should say '%s'", error, r->text);
    assert_int_equal(kiln_gpu_row_live(), live);
    kiln_gpu_row_close(&t);
}

static void refuses_what_is_no_module(void **state) {
    (void)state;
    static const char text[] =
        "\177ELF, or whatever this is: longer than a header has to "
        "be, but nothing that anybody wrote for a GPU";
    char error[KILN_ERROR_TEXT] = "";
    const kiln_device_image file = {.bytes = text, .n = sizeof text}, linked = {0};
    kiln_device_module *m = NULL;
    kiln_gpu_trial t;
    kiln_gpu_row_open(&rows[0], &t);
    assert_int_equal(t.kind->module_open(t.device, &file, &m, error), -1);
    assert_string_equal(error, "gpu module: does not begin with 'KILNGPUM'");
    assert_int_equal(t.kind->module_open(t.device, &linked, &m, error), -1);
    assert_string_equal(error, "device 'opencl' runs no functions of this program: it "
                               "wants a module");
    kiln_gpu_row_close(&t);
}

static kiln_allocator allocator;

/* ---- machines without one --------------------------------------------------------- */

/* The first test: a library that was found stays. */
static void says_what_to_install(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_device *d = NULL;
    const kiln_device_kind *kind = kiln_device_kind_named("opencl", NULL, 0);
    assert_int_equal(setenv("KILN_OPENCL_LIBRARY", "libnonesuch.so.1", 1), 0);
    assert_int_equal(kind->open(&allocator, &d, error), -1);
    assert_int_equal(unsetenv("KILN_OPENCL_LIBRARY"), 0);
    assert_non_null(strstr(error, "device 'opencl' needs OpenCL: install its loader"));
    assert_non_null(strstr(error, "libnonesuch.so.1"));
}

static void is_chosen_by_its_name(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_gpu_trial t;
    kiln_gpu_row_open(&rows[0], &t);
    kiln_gpu_row_close(&t);
    kiln_device *d = NULL;
    assert_int_equal(setenv("KILN_OPENCL_DEVICE", "a device of nobody", 1), 0);
    assert_int_equal(t.kind->open(&allocator, &d, error), -1);
    assert_int_equal(setenv("KILN_OPENCL_DEVICE", ": ", 1), 0);
    assert_non_null(strstr(error,
                           "KILN_OPENCL_DEVICE is 'a device of nobody', which is "
                           "part of no OpenCL device's name: '"));
    assert_int_equal(t.kind->open(&allocator, &d, error), 0);
    t.kind->close(d);
    assert_int_equal(unsetenv("KILN_OPENCL_DEVICE"), 0);
}

/* PoCL 3.1 keeps what its compiler (LLVM 15) allocated, which LeakSanitizer then finds in
 * frames that it cannot name. What the runtime allocates is counted above. */
int __lsan_is_turned_off(void);              /* NOLINT: the name is the sanitizer's */
int __lsan_is_turned_off(void) { return 1; } /* NOLINT */

int main(void) {
    kiln_allocator_default(&allocator);
    /* What PoCL compiles here goes with the test. */
    if (setenv("POCL_CACHE_DIR", kiln_test_dir(), 1) != 0)
        return 1;
    kiln_test_add("says_what_to_install", says_what_to_install, NULL);
    kiln_test_add("is_chosen_by_its_name", is_chosen_by_its_name, NULL);
    kiln_test_add_rows(kiln_gpu_check_does_as_the_model, rows);
    kiln_test_add_rows(kiln_gpu_check_is_shared_by_threads, rows);
    kiln_test_add_rows(kiln_gpu_check_skips_what_follows_a_failure, rows);
    kiln_test_add_rows(kiln_gpu_check_wants_its_workspace, rows);
    kiln_test_add_rows(kiln_gpu_check_failing_memory_leaves_nothing, rows);
    kiln_test_add_rows(kiln_gpu_check_times_its_launches, rows);
    kiln_test_add_rows(refuses, refusals);
    kiln_test_add("refuses_what_is_no_module", refuses_what_is_no_module, NULL);
    return kiln_test_run("opencl");
}
