/* Files of inputs and outputs: names that go there and back, and types that .npy does
 * not know. */
#include "pipeline/package/package.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

typedef struct file_row {
    const char *name, *port, *file;
} file_row;

static file_row file_rows[] = {
    {"keeps_numbers", "337", "337.npy"},
    {"keeps_letters_and_dots", "block1.conv_2-a", "block1.conv_2-a.npy"},
    {"codes_colons", "onnx::Gather_334", "onnx%3A%3AGather_334.npy"},
    {"codes_slashes", "a/b", "a%2Fb.npy"},
    {"codes_its_own_sign", "100%", "100%25.npy"},
    {"hides_no_file", ".hidden", "%2Ehidden.npy"},
    {"leads_to_no_other_folder", "..", "%2E..npy"},
    {"codes_control_characters", "a\x1b[2J", "a%1B%5B2J.npy"},
    {"codes_utf8", "gr\xc3\xbc\xc3\x9f", "gr%C3%BC%C3%9F.npy"},
};

static const char *without_ending(const char *file) {
    return kiln_str_dupv(kiln_test_arena(), (kiln_str){file, strlen(file) - 4});
}

static void check_file(void **state) {
    const file_row *const r = *state;
    const char *back = NULL;
    assert_string_equal(kiln_port_file_name(kiln_test_arena(), r->port, 0), r->file);
    assert_true(kiln_port_name_of(kiln_test_arena(), without_ending(r->file), &back));
    assert_string_equal(back, r->port);
}

static void every_name_comes_back(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < 2000; i++) {
        char name[64] = "";
        const size_t n = 1 + kiln_rng_next(&rng) % 60;
        for (size_t k = 0; k < n; k++)
            name[k] = (char)(unsigned char)(1 + kiln_rng_next(&rng) % 255);
        const char *back = NULL, *file = kiln_port_file_name(&a, name, 0);
        assert_null(strchr(file, '/'));
        assert_int_not_equal(file[0], '.');
        assert_true(kiln_port_name_of(&a, without_ending(file), &back));
        assert_string_equal(back, name);
        kiln_arena_reset(&a);
    }
    kiln_arena_fini(&a);
}

static void long_names_become_numbers(void **state) {
    (void)state;
    char name[400];
    const char *back = NULL;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const char *file = kiln_port_file_name(kiln_test_arena(), name, 3);
    assert_string_equal(file, "%output-3.npy");
    assert_false(kiln_port_name_of(kiln_test_arena(), without_ending(file), &back));
    name[251] = '\0'; /* with its ending as long as a name can be */
    assert_int_equal(strlen(kiln_port_file_name(kiln_test_arena(), name, 3)), 255);
}

static void refuses_codes_that_are_none(void **state) {
    (void)state;
    static const char *const bad[] = {"%", "a%4", "%zz", "%2f", "x%00y"};
    const char *back = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(kiln_port_name_of(kiln_test_arena(), bad[i], &back));
}

static void writes_bf16_as_f32_exactly(void **state) {
    (void)state;
    static const uint16_t bits[] = {0x3f80, 0xc049, 0x0001, 0x7f80};
    static const float want[] = {1.0f, -3.140625f, 0x1p-133f, (float)INFINITY};
    kiln_arena *const a = kiln_test_arena();
    const int64_t dim = 4;
    const kiln_type t = kiln_type_make(KILN_BF16, 1, &dim);
    const kiln_tensor out = kiln_tensor_new(a, &t);
    memcpy(out.data, bits, sizeof bits);
    const kiln_device_port port = {.name = "y:0", .type = t};
    const kiln_opened p = {.package = {.output = &port, .n_outputs = 1}};
    const char **path = NULL, *dir = kiln_path_join(a, kiln_test_dir(), "out");
    kiln_tensor got;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_outputs_write(a, &p, &out, dir, &path, &err), &err);
    assert_string_equal(kiln_path_base(path[0]), "y%3A0.npy");
    kiln_assert_status_ok(kiln_tensor_read_npy(a, path[0], &got, &err), &err);
    assert_int_equal(got.type.dtype, KILN_F32);
    assert_memory_equal(got.data, want, sizeof want);
}

static void counts_what_it_rounds(void **state) {
    (void)state;
    static const float from[] = {1.0f, 1.00390625f, -3.140625f, 1e-3f, (float)NAN};
    static const uint16_t want[] = {0x3f80, 0x3f80, 0xc049, 0x3a83};
    const int64_t dim = 5;
    const kiln_type t = kiln_type_make(KILN_F32, 1, &dim);
    const kiln_tensor x = {t, (void *)(uintptr_t)from};
    int64_t n_rounded = 0;
    const kiln_tensor y = kiln_tensor_as(kiln_test_arena(), &x, KILN_BF16, &n_rounded);
    assert_int_equal(n_rounded, 2);
    assert_memory_equal(y.data, want, sizeof want);
}

int main(void) {
    kiln_test_add_rows(check_file, file_rows);
    kiln_test_add("every_name_comes_back", every_name_comes_back, NULL);
    kiln_test_add("long_names_become_numbers", long_names_become_numbers, NULL);
    kiln_test_add("refuses_codes_that_are_none", refuses_codes_that_are_none, NULL);
    kiln_test_add("writes_bf16_as_f32_exactly", writes_bf16_as_f32_exactly, NULL);
    kiln_test_add("counts_what_it_rounds", counts_what_it_rounds, NULL);
    return kiln_test_run("files of a package");
}
