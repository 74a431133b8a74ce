/* What applications use, from an installed prefix: the examples in each language, what
 * the C++ wrapper and the Python package promise; built and run once more where nothing
 * is but the system and that prefix.
 *
 * Tolerance: f32 sums of twelve terms of magnitude 1, printed with five decimals. */
#include "tests/support/program/installed.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double tolerance = 5e-5;
enum { LEFT_OUT = 77 };

static installed here; /* dest NULL: installing failed */

static void installs(void **state) {
    (void)state;
    here = installed_make();
}

typedef struct row {
    const char *name, *script;
} row;

static kiln_process_result run_row(const row *r) {
    if (here.dest == NULL)
        kiln_test_skip("nothing was installed");
    const kiln_process_result got = installed_run(&here, r->script);
    if (got.end == KILN_PROCESS_EXITED && got.code == LEFT_OUT)
        kiln_test_skip("left out: %s%s", got.out.p, got.err.p);
    if (got.end != KILN_PROCESS_EXITED || got.code != 0)
        fail_msg("'%s' failed: %s%s", r->name, got.out.p, got.err.p);
    return got;
}

/* ---- examples -------------------------------------------------------------------- */

#define C "cc -std=c17 -Wall -Wextra -Werror "
#define CPP "c++ -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "
#define EXAMPLES "/opt/kiln/share/doc/kiln/examples"
/* As docs/runtime.md has it. */
#define LIBRARY                                                                        \
    " $(pkg-config --cflags --libs kiln-runtime) "                                     \
    "-Wl,-rpath,$(pkg-config --variable=libdir kiln-runtime)"
#define CHROOT(command)                                                                \
    "\"$0\"/tests/tools/bindings/in_chroot.sh \"$DEST\" \"$PACKAGE\" '"                \
    "export PKG_CONFIG_PATH=/opt/kiln/lib/pkgconfig; cd /tmp && " command "' || {"     \
    " code=$?; [ $code != 77 ] || echo no new root can be made here; exit $code; }"

static row example_rows[] = {
    {"c_example",
     C "\"$DEST\"" EXAMPLES "/top5.c" LIBRARY " -o top5 && ./top5 . input.bin"},
    {"cpp_example",
     CPP "\"$DEST\"" EXAMPLES "/top5.cpp" LIBRARY " -o top5 && ./top5 . input.bin"},
    {"c_example_in_a_clean_chroot",
     CHROOT(C EXAMPLES "/top5.c" LIBRARY " -o top5 && ./top5 /here /here/input.bin")},
    {"cpp_example_in_a_clean_chroot",
     CHROOT(CPP EXAMPLES "/top5.cpp" LIBRARY
                         " -o top5 && ./top5 /here /here/input.bin")},
};

/* ---- Python: a wheel in a fresh virtual environment --------------------------------
 *
 * NumPy comes from an environment that another tool made: the test takes nothing from
 * the network. */

#define NUMPY                                                                          \
    "for v in numpy onnxruntime; do python=\"$0\"/build/$v-venv/bin/python;"           \
    " \"$python\" -c 'import numpy' 2>/dev/null && break; python=; done;"              \
    "[ -n \"$python\" ] || { echo 'there is no NumPy: make test-python fetches it';"   \
    " exit 77; };"
#define WHEEL                                                                          \
    NUMPY "wheel=$(echo wheel/*x86_64.whl); [ -f \"$wheel\" ] || { echo 'there is no " \
          "wheel for this machine'; exit 77; };"
/* In the package's folder: "venv", and "site" for another Python. */
#define FRESH                                                                          \
    WHEEL                                                                              \
    "set -e; [ -d venv ] || { \"$python\" -m venv --without-pip venv;"                 \
    "\"$python\" -m pip -q --disable-pip-version-check --python venv/bin/python "      \
    "install --no-index --no-deps \"$wheel\";"                                         \
    "\"$python\" -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))' "       \
    ">\"$(venv/bin/python -c 'import sysconfig; "                                      \
    "print(sysconfig.get_path(\"purelib\"))')\"/numpy.pth; };"                         \
    "unset PYTHONPATH; "

static row python_examples[] = {
    {"python_example",
     FRESH "venv/bin/python \"$DEST\"" EXAMPLES "/top5.py . input.bin"},
    {"python_example_reads_npy",
     FRESH "venv/bin/python -c 'import numpy as np; np.save(\"x.npy\", "
           "np.fromfile(\"input.bin\", np.float32).reshape(1, 12))';"
           "venv/bin/python \"$DEST\"" EXAMPLES "/top5.py . x.npy"},
    {"python_example_in_a_clean_chroot",
     FRESH "numpy=$(dirname \"$(\"$python\" -c 'import numpy; "
           "print(numpy.__file__)')\"); \"$python\" -m pip -q "
           "--disable-pip-version-check install --no-index --no-deps --target site "
           "\"$wheel\"; cp -r \"$numpy\" \"$numpy\".libs site/;"
           "PYTHONPATH=site /usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "
           "\"the system's Python is none, or not that of NumPy\"; exit 77; }; set "
           "+e;" CHROOT("PYTHONPATH=/here/site python3 " EXAMPLES "/top5.py /here "
                        "/here/input.bin")},
};

static row python_rows[] = {
    {"wheel_is_the_same_again",
     "command -v python3 >/dev/null || { echo there is no python3; exit 77; };"
     "unset MAKEFLAGS MFLAGS MAKELEVEL V CC TEST SOURCE_DATE_EPOCH; set -e;"
     "put() { flock \"$0\"/build make -s -C \"$0\" CC=gcc WERROR=${KILN_WERROR:-0} "
     "WHEEL_DIR=\"$PACKAGE\"/$1 wheel >/dev/null; };"
     "put wheel; touch \"$0\"/bindings/python/kiln; (umask 077; put again); diff -r "
     "wheel again; SOURCE_DATE_EPOCH=1000000000 put later; ! cmp -s wheel/*x86_64.whl "
     "later/*x86_64.whl"},
    {"wheel_is_what_its_record_says",
     "[ -d wheel ] || { echo there is no wheel; exit 77; };"
     "python3 -B \"$0\"/tests/tools/bindings/check_wheel.py wheel/*.whl"},
    {"wheel_refuses_other_libraries",
     "[ -d wheel ] || { echo there is no wheel; exit 77; };"
     "echo 'int x;' >x.c; cc -shared -fPIC x.c -Wl,--no-as-needed -lz -o libx.so "
     "2>/dev/null || cc -shared -fPIC x.c -Wl,--no-as-needed -lgcc_s -o libx.so;"
     "make() { python3 -B \"$0\"/bindings/python/make_wheel.py --library $1 --version "
     "1 --licence \"$0\"/LICENSE --out none; };"
     "make libx.so 2>&1 | grep -q 'would not run on every Linux' && make x.c 2>&1 | "
     "grep -q 'is no ELF64' && test ! -e none"},
    {"python_keeps_its_promises",
     FRESH "venv/bin/python -B \"$0\"/tests/tools/bindings/check_python.py "
           "\"$PACKAGE\" \"$TYPES\" \"$SHAPES\""},
    {"python_says_what_is_missing", FRESH
     "mkdir -p bare; cp -r \"$0\"/bindings/python/kiln bare/;"
     "PYTHONPATH=bare venv/bin/python -B -c 'import kiln' 2>&1 | grep -q \"kiln's "
     "runtime library cannot be loaded\"; PYTHONPATH=bare "
     "LD_LIBRARY_PATH=\"$DEST\"/opt/kiln/lib venv/bin/python -B -c 'import "
     "kiln'"},
};

/* Five lines of place and value, largest first. */
static void prints_the_five_largest(void **state) {
    const kiln_process_result got = run_row(*state);
    const char *text = got.out.p;
    const float *want = here.want.data;
    double last = HUGE_VAL;
    bool is_shown[INSTALLED_N_OUT] = {false};
    for (int k = 0; k < 5; k++) {
        int i = -1, n = 0;
        double value = 0;
        if (sscanf(text, "%d %lf\n%n", &i, &value, &n) != 2 || i < 0 ||
            i >= INSTALLED_N_OUT || is_shown[i])
            fail_msg("line %d is not 'place value': %s", k + 1, got.out.p);
        if (!(fabs(value - (double)want[i]) <= tolerance) || value > last)
            fail_msg("line %d: %g, the reference has %g there: %s", k + 1, value,
                     (double)want[i], got.out.p);
        is_shown[i] = true;
        last = value;
        text += n;
    }
    assert_string_equal(text, "");
    for (int i = 0; i < INSTALLED_N_OUT; i++)
        if (!is_shown[i] && (double)want[i] > last + tolerance)
            fail_msg("element %d is %g and was not shown: %s", i, (double)want[i],
                     got.out.p);
}

/* ---- promises -------------------------------------------------------------------- */

static row rows[] = {
    {"c_example_says_what_is_wrong", "{ ./top5 2>&1; ./top5 /nowhere input.bin 2>&1; "
                                     "./top5 . plan.bin 2>&1; } | diff - "
                                     "/dev/fd/3 3<<'END'\n"
                                     "usage: top5 FOLDER INPUT.f32\n"
                                     "'/nowhere/plan.bin': No such file or directory\n"
                                     "'plan.bin' must have 48 bytes\nEND\n"},
    {"cpp_wrapper_keeps_its_promises",
     CPP "-g -fsanitize=address,undefined "
         "\"$0\"/tests/tools/bindings/wrapper.cpp" LIBRARY
         " -o wrapper -lpthread && ./wrapper . input.bin \"$SHAPES\""},
    {"cpp_wrapper_is_clean_with_clang",
     "command -v clang++ >/dev/null || { echo there is no clang++; exit 77; };"
     "clang++ -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wshadow "
     "-Werror -fsyntax-only -x c++ \"$DEST\"/opt/kiln/include/kiln/kiln.hpp "
     "-I\"$DEST\"/opt/kiln/include"},
};

static void succeeds(void **state) {
    const kiln_process_result got = run_row(*state);
    kiln_assert_text_equal(got.out, kiln_str_from(""));
}

int main(void) {
    kiln_test_add("installs", installs, NULL);
    kiln_test_add_rows(prints_the_five_largest, example_rows);
    kiln_test_add_rows(succeeds, rows);
    kiln_test_add_rows(succeeds, python_rows);
    kiln_test_add_rows(prints_the_five_largest, python_examples);
    return kiln_test_run("bindings");
}
