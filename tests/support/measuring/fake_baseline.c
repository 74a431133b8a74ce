#include "tests/support/measuring/fake_baseline.h"

#include <string.h>
#include <sys/stat.h>

#include "pipeline/baselines/baselines_internal.h"

static const char head[] = "#!/bin/sh\n"
                           "case \"$*\" in *--version*) echo 1.2.3; exit 0;; esac\n"
                           "give() {\n"
                           "  to=$(printf '%s\\n' \"$line\" | sed "
                           "'s/.*\"outputs\"[^/]*\"file\": *\"\\([^\"]*\\)\".*/\\1/')\n"
                           "  cp \"$1\" \"$to\" && echo '{}'\n"
                           "}\n"
                           "sample() { echo '{\"wall_ns\": 2000000, \"cpu_ns\": "
                           "2000000, \"preempted\": 0}'; }\n"
                           "while read -r line; do\n";

static void write_program(const char *dir, const char *name, const char *script) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const char *path = kiln_path_join(a, dir, name);
    const kiln_str text = kiln_str_from(kiln_format(a, "%s%s\ndone\n", head, script));
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    kiln_assert_status_ok(kiln_file_write(path, text.p, text.n, &err), &err);
    assert_int_equal(chmod(path, 0700), 0);
}

const char *kiln_test_fake_baseline(const char *script) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const char *dir;
    kiln_assert_status_ok(kiln_dir_temp(a, &dir, &err), &err);
    write_program(kiln_path_join(a, dir, "bin"), "python", script);
    return dir;
}

const char *kiln_test_fake_program(const char *name, const char *script) {
    kiln_err err = {.status = KILN_OK};
    const char *dir;
    kiln_assert_status_ok(kiln_dir_temp(kiln_test_arena(), &dir, &err), &err);
    if (script != NULL)
        write_program(dir, name, script);
    return dir;
}

int64_t kiln_test_answer_ms(const char *wanted) {
    enum { SOON_MS = 1000 };
    const bool hangs =
        wanted != NULL && strstr(wanted, "did not answer in time") != NULL;
    return hangs ? SOON_MS : KILN_TEST_PATIENCE_MS;
}

void kiln_test_answer_within(const kiln_baseline_session *s, int64_t limit_ms) {
    kiln_asked *asked = s->own;
    asked->limit_ms = limit_ms;
}
