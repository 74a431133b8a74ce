/* Packages written and read back: every entry, the manifest, and that the unpacked
 * folder runs. */
#include "packager/packager.h"
#include "runtime/kiln.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package_build.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const char *path_of(const char *name) {
    return kiln_path_join(kiln_test_arena(), kiln_test_dir(), name);
}

static void run_folder(kiln_arena *a, const char *folder, const kiln_package_facts *f) {
    char error[KILN_ERROR_TEXT] = "";
    kiln_err err = {0};
    kiln_tensor in[4];
    kiln_package_expected want[4];
    assert_true(f->n_inputs <= 4 && f->n_outputs <= 4);
    kiln_assert_status_ok(kiln_package_selftest_read(a, folder, f, in, want, &err),
                          &err);
    kiln_model *m = kiln_model_open(folder, NULL, error);
    if (m == NULL)
        fail_msg("%s", error);
    kiln_session *s = kiln_session_open(m, NULL, error);
    assert_non_null(s);
    for (size_t i = 0; i < f->n_inputs; i++)
        assert_int_equal(kiln_session_set_input(s, (int)i, in[i].data), 0);
    assert_int_equal(kiln_session_run(s), 0);
    for (size_t i = 0; i < f->n_outputs; i++) {
        const float *got = kiln_session_output(s, (int)i), *value = want[i].value.data;
        for (int64_t k = 0; k < kiln_type_elems(&want[i].value.type); k++) {
            const int64_t at = want[i].at != NULL ? want[i].at[k] : k;
            if (!(fabs((double)got[at] - (double)value[k]) <= 1e-4))
                fail_msg("output %zu, element %lld: %g, must be %g", i, (long long)at,
                         (double)got[at], (double)value[k]);
        }
    }
    kiln_session_close(s);
    kiln_model_close(m);
}

static void unpacks_what_was_packed(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package p;
    kiln_package_facts f;
    char sha256[KILN_SHA256_HEX], again[KILN_SHA256_HEX];
    kiln_str file;
    const char *archive = path_of("a.kiln.tar.zst"), *folder = path_of("unpacked");
    kiln_test_package(&a, kiln_test_network_text, NULL, &p);
    kiln_assert_status_ok(kiln_package_write(&p, archive, sha256, &err), &err);
    kiln_assert_status_ok(kiln_file_map(&a, archive, 0, &file, &err), &err);
    kiln_sha256_of(file.p, file.n, again);
    assert_string_equal(sha256, again);
    kiln_assert_status_ok(kiln_package_unpack(&a, archive, folder, &f, &err), &err);
    assert_string_equal(f.model, "small");
    assert_int_equal(f.n_kernels, p.facts.n_kernels);
    assert_string_equal(f.kernel[0].workload, p.facts.kernel[0].workload);
    run_folder(&a, folder, &f);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("unpacks_what_was_packed", unpacks_what_was_packed, NULL);
    return kiln_test_run("package");
}
