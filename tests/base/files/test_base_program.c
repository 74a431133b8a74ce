/* Where kiln's own programs are looked for. */
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void looks_where_the_environment_says(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    char *got = NULL;
    const char *dir = kiln_test_dir(), *path = kiln_path_join(a, dir, "kiln-tool");
    setenv("KILN_LIBEXEC", dir, 1);
    kiln_assert_fails(kiln_program_find(a, "kiln-tool", &got, &err), KILN_ERR_IO, &err,
                      kiln_format(a, "program 'kiln-tool' is not in '%s'", dir));
    err = (kiln_err){.status = KILN_OK};
    kiln_assert_status_ok(kiln_file_write(path, "x", 1, &err), &err);
    kiln_assert_fails(kiln_program_find(a, "kiln-tool", &got, &err), KILN_ERR_IO, &err,
                      "is not in"); /* not executable */
    err = (kiln_err){.status = KILN_OK};
    assert_int_equal(chmod(path, 0700), 0);
    kiln_assert_status_ok(kiln_program_find(a, "kiln-tool", &got, &err), &err);
    assert_string_equal(got, path);
    unsetenv("KILN_LIBEXEC");
}

static void looks_beside_this_program(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    char *got = NULL;
    unsetenv("KILN_LIBEXEC");
    kiln_assert_status_ok(kiln_program_find(a, "test_base_program", &got, &err), &err);
    assert_non_null(strstr(got, "/tests/base/files/test_base_program"));
    char *own = NULL;
    kiln_assert_status_ok(kiln_program_own(a, &own, &err), &err);
    assert_string_equal(kiln_path_dir(a, own), kiln_path_dir(a, got));
    kiln_assert_fails(kiln_program_find(a, "no-such-tool", &got, &err), KILN_ERR_IO,
                      &err, "/../libexec/kiln'; 'make' builds it");
}

/* As programs, but a file need not be fit to run. */
static void files_have_a_folder_of_their_own(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    char *got = NULL;
    const char *dir = kiln_test_dir(), *path = kiln_path_join(a, dir, "kiln.txt");
    setenv("KILN_DATA", dir, 1);
    kiln_assert_fails(kiln_data_find(a, "kiln.txt", &got, &err), KILN_ERR_IO, &err,
                      kiln_format(a, "file 'kiln.txt' is not in '%s'", dir));
    err = (kiln_err){.status = KILN_OK};
    kiln_assert_status_ok(kiln_file_write(path, "x", 1, &err), &err);
    kiln_assert_status_ok(kiln_data_find(a, "kiln.txt", &got, &err), &err);
    assert_string_equal(got, path);
    unsetenv("KILN_DATA");
    kiln_assert_fails(kiln_data_find(a, "kiln.txt", &got, &err), KILN_ERR_IO, &err,
                      "/../share/kiln'; 'make' builds it, or set KILN_DATA");
}

int main(void) {
    kiln_test_add("files_have_a_folder_of_their_own", files_have_a_folder_of_their_own,
                  NULL);
    kiln_test_add("looks_where_the_environment_says", looks_where_the_environment_says,
                  NULL);
    kiln_test_add("looks_beside_this_program", looks_beside_this_program, NULL);
    return kiln_test_run("programs");
}
