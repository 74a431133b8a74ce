#include "tests/support/fake_baseline.h"

#include <sys/stat.h>

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

const char *kiln_test_fake_baseline(const char *script) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const char *dir, *text = kiln_format(a, "%s%s\ndone\n", head, script);
    kiln_assert_status_ok(kiln_dir_temp(a, &dir, &err), &err);
    const char *bin = kiln_path_join(a, dir, "bin");
    const char *python = kiln_path_join(a, bin, "python");
    kiln_assert_status_ok(kiln_dir_make(bin, &err), &err);
    const kiln_str bytes = kiln_str_from(text);
    kiln_assert_status_ok(kiln_file_write(python, bytes.p, bytes.n, &err), &err);
    assert_int_equal(chmod(python, 0700), 0);
    return dir;
}
