/* Which of several packages a machine takes, and lists that are no such lists. */
#include "runtime/variants.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static const char list[] = "kiln variants 1\n"
                           "v0 0 62 x86-64-v4,avx512vnni x86-avx512-vnni\n"
                           "v1 0 62 x86-64-v4,avx512vnni x86-avx512-vnni\n"
                           "v2 1 62 x86-64-v4 x86-avx512\n"
                           "v3 2 62 x86-64-v3 x86-avx2\n"
                           "v4 2 62 x86-64-v3 x86-avx2\n"
                           "v5 3 183 - aarch64\n"
                           "v6 4 243 zvl256b my own board\n";

static int has_all(const char *feature) {
    (void)feature;
    return 1;
}
static int has_no_vnni(const char *feature) {
    return strcmp(feature, "avx512vnni") != 0;
}
static int has_avx2(const char *feature) { return strcmp(feature, "x86-64-v3") == 0; }
static int has_none(const char *feature) {
    (void)feature;
    return 0;
}

typedef struct row {
    const char *name;
    kiln_variants_machine machine;
    int want;
    const char *error; /* a part of it */
} row;

static row rows[] = {
    {"takes_the_best", {62, has_all}, 0, NULL},
    {"takes_what_needs_less", {62, has_no_vnni}, 2, NULL},
    {"takes_avx2_without_avx512", {62, has_avx2}, 3, NULL},
    {"takes_another_architecture", {183, NULL}, 5, NULL},
    {"takes_a_name_with_blanks", {243, has_all}, 6, NULL},
    {"names_what_there_is",
     {62, has_none},
     -1,
     "'x86-avx512-vnni' (needs x86-64-v4), 'x86-avx512' (needs x86-64-v4), 'x86-avx2' "
     "(needs x86-64-v3), 'aarch64' (ELF machine 183, this is 62)"},
    {"knows_no_machine", {0, NULL}, -1, "none of the package's profiles runs here"},
};

static void chooses(void **state) {
    const row *r = *state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_variants v;
    assert_int_equal(kiln_variants_parse(list, sizeof list - 1, &v, error), 0);
    assert_int_equal(v.n, 7);
    assert_string_equal(v.row[6].profile, "my own board");
    assert_int_equal(kiln_variants_choose(&v, &r->machine, error), r->want);
    if (r->error != NULL)
        assert_non_null(strstr(error, r->error));
}

typedef struct bad {
    const char *name, *text, *error;
} bad;

static bad bads[] = {
    {"is_empty", "", "another version"},
    {"is_another_version", "kiln variants 2\nv0 0 62 - x\n", "another version"},
    {"has_none", "kiln variants 1\n", "damaged in line 2"},
    {"leads_elsewhere", "kiln variants 1\n../v0 0 62 - x\n", "damaged in line 2"},
    {"leads_up", "kiln variants 1\n.. 0 62 - x\n", "damaged in line 2"},
    {"has_no_number", "kiln variants 1\nv0 0 62 - x\nv1 a 62 - x\n",
     "damaged in line 3"},
    {"has_a_large_number", "kiln variants 1\nv0 0 12345678 - x\n", "damaged in line 2"},
    {"is_cut", "kiln variants 1\nv0 0 62 - x", "damaged in line 2"},
    {"is_cut_in_words", "kiln variants 1\nv0 0\n62 - x\n", "damaged in line 2"},
};

static void refuses(void **state) {
    const bad *b = *state;
    char error[KILN_ERROR_TEXT] = "";
    kiln_variants v;
    assert_int_equal(kiln_variants_parse(b->text, strlen(b->text), &v, error), -1);
    assert_non_null(strstr(error, b->error));
}

/* Every prefix and every changed byte ends in an answer. */
static void reads_no_further(void **state) {
    (void)state;
    char error[KILN_ERROR_TEXT];
    kiln_variants *v = kiln_new(kiln_test_arena(), kiln_variants);
    for (size_t n = 0; n < sizeof list; n++) {
        char *copy = kiln_arena_dup(kiln_test_arena(), list, n);
        (void)kiln_variants_parse(copy, n, v, error);
        for (size_t i = 0; i < n; i += 7) {
            copy[i] ^= 0x15;
            (void)kiln_variants_parse(copy, n, v, error);
        }
    }
}

/* What this machine says of itself makes sense: the higher level has the lower one. */
static void knows_this_machine(void **state) {
    (void)state;
    const kiln_variants_machine m = kiln_variants_here();
    if (m.has == NULL)
        kiln_test_skip("the runtime does not know this machine");
    assert_false(m.has("made-up"));
    if (m.has("x86-64-v4"))
        assert_true(m.has("x86-64-v3"));
    if (m.has("avx512vnni"))
        assert_true(m.has("x86-64-v4"));
}

int main(void) {
    kiln_test_add_rows(chooses, rows);
    kiln_test_add_rows(refuses, bads);
    kiln_test_add("reads_no_further", reads_no_further, NULL);
    kiln_test_add("knows_this_machine", knows_this_machine, NULL);
    return kiln_test_run("variants of packages");
}
