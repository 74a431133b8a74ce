/* The Makefile on a tiny tree: what is discovered, what a change rebuilds, what a
 * deletion removes.
 *
 * A row edits the tree after a first build, builds again and looks at what make printed
 * and at the members of the archive. A stale object is the one bug that makes every
 * other test lie.
 */
#include <string.h>

#include "base/base.h"
#include "tests/support/kiln_test.h"

typedef struct {
    const char *name;
    const char *edit;    /* shell, in the tree, after the first build */
    const char *args;    /* of the second make */
    const char *prints;  /* in the second make's output; NULL: it prints nothing */
    const char *members; /* of the archive after it, in order */
} row;

static row rows[] = {
    {"nothing_changed", ":", "", NULL, "a.o b.o"},
    {"a_header_changed", "echo 'int y(void);' >> base/base.h", "",
     "CC   build/gcc-debug/base/a.o", "a.o b.o"},
    {"a_flag_changed", ":", "EXTRA_CFLAGS=-DX",
     "CC   build/gcc-debug/compiler/deep/er/b.o", "a.o b.o"},
    {"a_library_source_was_deleted", "rm compiler/deep/er/b.c", "",
     "AR   build/gcc-debug/libkiln.a", "a.o"},
    {"a_source_was_added", "cp base/a.c base/c.c; sed -i s/kiln_a/kiln_c/ base/c.c",
     "WERROR=0", "CC   build/gcc-debug/base/c.o", "a.o c.o b.o"},
    {"a_header_was_deleted", "rm base/base.h; sed -i 1d base/a.c", "",
     "CC   build/gcc-debug/base/a.o", "a.o b.o"},
    {"a_variant_has_its_own_objects", ":", "V=release",
     "CC   build/gcc-release/base/a.o", "a.o b.o"},
    {"a_make_below_finds_the_compiler", "rm -r build", "-f below.mk",
     "LINK build/gcc-debug/kiln", "a.o b.o"},
    {"an_unknown_variant_is_named", ":", "V=fast", "V=fast is not a variant",
     "a.o b.o"},
};

static const char TREE[] =
    "cp -r \"$0/Makefile\" \"$0/mk\" . && mkdir -p base compiler/deep/er cli "
    "tuning_db/ready tuning_db/corpus &&"
    "printf '{}\\n' > tuning_db/ready/ready.jsonl &&"
    ": > tuning_db/corpus/autotvm.jsonl &&"
    "printf 'int kiln_a(void);\\n' > base/base.h &&"
    "printf '#include \"base/base.h\"\\nint kiln_a(void);\\nint kiln_a(void) { return "
    "1; }\\n'"
    " > base/a.c &&"
    "printf 'int kiln_b(void);\\nint kiln_b(void) { return 1; }\\n' > "
    "compiler/deep/er/b.c &&"
    "printf 'int main(void) { return 0; }\\n' > cli/main.c &&"
    "printf 'include Makefile\\nbelow: ; $(MAKE) all\\n.DEFAULT_GOAL := below\\n' > "
    "below.mk &&"
    /* A build of kiln's own may be what runs this test. */
    "unset MAKEFLAGS MFLAGS MAKELEVEL V CC WERROR TEST; make && ";

static void check_rebuild(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    /* Time stamps are in nanoseconds, but of the kernel's clock, which ticks every 4
     * ms. */
    const char *script = kiln_format(
        a,
        "%s sleep 0.05; %s; echo '--- second'; make %s 2>&1; echo '--- members';"
        "echo $(ar t build/gcc-debug/libkiln.a)",
        TREE, r->edit, r->args);
    const kiln_process_result got = kiln_test_shell(script);
    const char *second = strstr(got.out.p, "--- second\n");
    const char *members = strstr(got.out.p, "--- members\n");
    if (second == NULL || members == NULL)
        fail_msg("the first build failed: %s%s", got.out.p, got.err.p);
    second += strlen("--- second\n");
    if (r->prints == NULL && second != members)
        fail_msg("wanted nothing to be done, got '%s'", second);
    const char *found = r->prints == NULL ? second : strstr(second, r->prints);
    if (found == NULL || found > members)
        fail_msg("wanted '%s', got '%s'", r->prints, second);
    assert_string_equal(members + strlen("--- members\n"),
                        kiln_format(a, "%s\n", r->members));
}

int main(void) {
    kiln_test_add_rows(check_rebuild, rows);
    return kiln_test_run("build");
}
