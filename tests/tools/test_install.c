/* make install-runtime into a folder, and what a user then does: the example of the
 * documentation built by pkg-config against the shared and the static library, run on a
 * package, held against the reference; what the programs and the library need and
 * export.
 *
 * Tolerance: f32 sums of twelve terms of magnitude 1. */
#include "tests/support/program/installed.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static const double tolerance = 1e-5;

static installed here; /* dest NULL: installing failed */

static void installs(void **state) {
    (void)state;
    here = installed_make();
}

typedef struct row {
    const char *name, *script;
    const char *out; /* the whole of stdout; NULL: the example's outputs */
} row;

#define EXAMPLE                                                                        \
    "cc -std=c17 -Wall -Wextra -Wpedantic -Werror \"$0\"/docs/runtime-example.c "
#define RUN " ./example \"$PACKAGE\" <input.bin"
/* What ldd may show besides the program's own library. */
#define SYSTEM                                                                         \
    "grep -vE "                                                                        \
    "'^\\s*(linux-vdso|libc\\.|libpthread\\.|/lib.*/ld-linux|libkiln-runtime)'"

/* As docs/runtime.md has it: no other place is told where PREFIX is. */
#define FOUND " -Wl,-rpath,\"$(pkg-config --variable=libdir kiln-runtime)\" "
/* The board's files, as its own pkg-config finds them. */
#define BOARD                                                                          \
    "export PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR=\"$DEST\"/opt/kiln/lib/"                \
    "aarch64-linux-gnu/pkgconfig;"                                                     \
    "cc() { aarch64-linux-gnu-gcc \"$@\"; };"                                          \
    "run() { qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu \"$@\"; };"
#define RUN_BOARD " run ./board \"$BOARD\" <input.bin"

static row board_rows[] = {
    {"board_example_without_any_library",
     BOARD EXAMPLE "-static $(pkg-config --static --cflags --libs kiln-runtime) -o "
                   "board &&" RUN_BOARD,
     NULL},
    {"board_example_with_the_shared_library",
     BOARD EXAMPLE "$(pkg-config --cflags --libs kiln-runtime)" FOUND
                   "-o board &&" RUN_BOARD,
     NULL},
    {"board_library_is_the_hosts",
     "cd \"$DEST\"/opt/kiln/lib; names() { nm -D --defined-only $1 | cut -d' ' -f2-; };"
     "names libkiln-runtime.so >\"$PACKAGE\"/host;"
     "names aarch64-linux-gnu/libkiln-runtime.so | diff \"$PACKAGE\"/host - && "
     "test -s \"$PACKAGE\"/host",
     ""},
};

static row rows[] = {
    {"example_finds_the_shared_library_anywhere",
     EXAMPLE "$(pkg-config --cflags --libs kiln-runtime)" FOUND "-o example &&" RUN,
     NULL},
    {"example_with_the_shared_library",
     EXAMPLE "$(pkg-config --cflags --libs kiln-runtime) -o example &&"
             "export LD_LIBRARY_PATH=\"$DEST\"/opt/kiln/lib &&" RUN,
     NULL},
    {"needs_the_shared_library_by_its_soname",
     "ldd example | grep -c 'libkiln-runtime.so.0 => not found'", "1\n"},
    {"shared_library_needs_libc_and_threads",
     "ldd \"$DEST\"/opt/kiln/lib/libkiln-runtime.so | " SYSTEM "; true", ""},
    {"example_with_the_static_library",
     EXAMPLE "$(pkg-config --cflags kiln-runtime) "
             "\"$(pkg-config --variable=libdir kiln-runtime)\"/libkiln-runtime.a "
             "-lpthread -o example &&" RUN,
     NULL},
    {"static_example_needs_libc_and_threads", "ldd example | " SYSTEM "; true", ""},
    {"static_example_knows_nothing_of_kiln", "ldd example | grep -c kiln; true", "0\n"},
    {"example_without_any_library",
     EXAMPLE "-static $(pkg-config --static --cflags --libs kiln-runtime) -o "
             "example &&" RUN,
     NULL},
    {"example_says_what_is_wrong",
     "./example 2>&1; ./example /nowhere 2>&1; ./example \"$PACKAGE\" </dev/null 2>&1;"
     "true",
     "usage: example FOLDER <inputs >outputs\n"
     "'/nowhere/plan.bin': No such file or directory\nan input is not whole\n"},
    {"runner_runs",
     "\"$DEST\"/opt/kiln/bin/kiln-run \"$PACKAGE\" --input x=input.bin --raw "
     "--output-dir . --json report.json >said && cat output_0.bin",
     NULL},
    {"exports_the_header_and_no_more",
     "cd \"$DEST\"/opt/kiln &&"
     "nm -D --defined-only lib/libkiln-runtime.so | awk '$2 == \"T\" { sub(/@.*/, "
     "\"\"); print $3 }' | sort >\"$PACKAGE\"/exported &&"
     "grep -oE 'kiln_(model|session)_[a-z_]+\\(' include/kiln/kiln.h | tr -d '(' | "
     "sort -u | diff - \"$PACKAGE\"/exported && test -s \"$PACKAGE\"/exported",
     ""},
    {"headers_are_c_and_cpp",
     "cd \"$DEST\"/opt/kiln/include && for h in kiln/*.h; do"
     " printf '#include <%s>\\n' $h >\"$PACKAGE\"/h.c;"
     " cc -I. -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only "
     "\"$PACKAGE\"/h.c || echo $h;"
     " if command -v g++ >/dev/null; then g++ -I. -x c++ -std=c++11 -Wall -Wextra "
     "-Wpedantic -Werror -fsyntax-only \"$PACKAGE\"/h.c || echo $h; fi; done; ls kiln",
     "kernel.h\nkiln.h\nkiln.hpp\n"},
    {"everybody_may_read_what_was_installed",
     "find \"$DEST\"/opt -type f ! -perm -444 -o -type d ! -perm -555 | sed "
     "s,\"$DEST\",,",
     ""},
    {"pkg_config_knows_the_version",
     "test \"$(pkg-config --modversion kiln-runtime)\" = \"$(sed -n "
     "'s/^#define KILN_VERSION \"\\(.*\\)\"/\\1/p' \"$0\"/base/version.h)\" && echo ok",
     "ok\n"},
    {"uninstall_leaves_nothing",
     "touch \"$DEST\"/opt/kiln/lib/other; unset MAKEFLAGS MFLAGS MAKELEVEL V CC;"
     "make -s -C \"$0\" DESTDIR=\"$DEST\" PREFIX=/opt/kiln uninstall >/dev/null;"
     "find \"$DEST\" ! -type d | sed s,\"$DEST\",,",
     "/opt/kiln/lib/other\n"},
};

static void check_row(void **state) {
    const row *r = *state;
    if (here.dest == NULL)
        kiln_test_skip("nothing was installed");
    const kiln_process_result got = installed_run(&here, r->script);
    if (got.end != KILN_PROCESS_EXITED || got.code != 0)
        fail_msg("'%s' failed: %s%s", r->name, r->out != NULL ? got.out.p : "",
                 got.err.p);
    if (r->out != NULL) {
        kiln_assert_text_equal(got.out, kiln_str_from(r->out));
        return;
    }
    assert_int_equal(got.out.n, INSTALLED_N_OUT * sizeof(float));
    float y[INSTALLED_N_OUT];
    memcpy(y, got.out.p, sizeof y);
    kiln_assert_close(y, here.want.data, INSTALLED_N_OUT, 16, tolerance);
}

static void check_board_row(void **state) {
    if (here.dest == NULL ||
        installed_run(&here,
                      "command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64")
                .code != 0)
        kiln_test_skip("there is no aarch64-linux-gnu-gcc, or no qemu-aarch64");
    check_row(state);
}

int main(void) {
    kiln_test_add("installs", installs, NULL);
    kiln_test_add_rows(check_board_row, board_rows);
    kiln_test_add_rows(check_row, rows);
    return kiln_test_run("install");
}
