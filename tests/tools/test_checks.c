/* The checks of tools/, each on a tiny tree: what must pass passes, what must not is
 * named by file and line and comes with its remedy. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "tests/support/kiln_test.h"

typedef struct {
    const char *name;
    const char *file; /* in the tree */
    const char *text;
    const char *want; /* in what the check prints */
    int want_code;
    int repeat; /* of the text; 0 is 1 */
} row;

static const char TABLE[] = "low ->\n"
                            "high -> low\n"
                            "high/sub -> low other\n"
                            "other ->\n"
                            "tests -> *\n"
                            "public other/names.h\n"
                            "free stdio.h\n"
                            "library foo.h low/foo.c\n"
                            "library big/ low\n"
                            "library sys/special.h *_linux.c\n";

static row layers_rows[] = {
    {"layers_accepts_the_right_way", "high/a.c", "#include \"low/low.h\"\n", "agree", 0,
     0},
    {"layers_accepts_own_folder", "low/a.c", "#include \"low/private.h\"\n", "agree", 0,
     0},
    {"layers_accepts_folder_above", "low/sub/a.c", "#include \"low/private.h\"\n",
     "agree", 0, 0},
    {"layers_lets_tests_include_anything", "tests/a.c", "#include \"low/private.h\"\n",
     "agree", 0, 0},
    {"layers_accepts_a_declared_public_header", "high/sub/a.c",
     "#include \"other/names.h\"\n", "agree", 0, 0},
    {"layers_rejects_the_wrong_way", "low/a.c", "int x;\n#include \"high/high.h\"\n",
     "low/a.c:2: 'low' must not include 'high/high.h'; it may include: nothing", 1, 0},
    {"layers_takes_the_longest_folder", "high/a.c", "#include \"other/other.h\"\n",
     "high/a.c:1: 'high' must not include 'other/other.h'; it may include: low", 1, 0},
    {"layers_looks_at_headers_too", "low/a.h", "#  include \"high/high.h\"\n",
     "low/a.h:1: 'low' must not include 'high/high.h'", 1, 0},
    {"layers_looks_at_tables_too", "low/a.def", "#include \"high/high.h\"\n",
     "low/a.def:1: 'low' must not include 'high/high.h'", 1, 0},
    {"layers_is_not_fooled_by_a_common_start", "lower/a.c", "#include \"low/low.h\"\n",
     "lower/a.c:1: no row of layers.txt covers this file", 1, 0},
    {"layers_rejects_a_private_header", "high/a.c", "#include \"low/private.h\"\n",
     "'low/private.h' is private to low/; include 'low/low.h'", 1, 0},
    {"layers_rejects_a_header_of_a_folder_below", "low/a.c",
     "#include \"low/sub/private.h\"\n", "'low/sub/private.h' is private to low/sub/",
     1, 0},
    {"layers_rejects_a_relative_include", "low/a.c", "#include \"low.h\"\n",
     "\"low.h\" is not written from the root", 1, 0},
    {"layers_rejects_a_folder_without_row", "new/a.c", "#include \"low/low.h\"\n",
     "new/a.c:1: no row of layers.txt covers this file; add one", 1, 0},
    {"layers_accepts_a_free_header", "high/a.c", "#include <stdio.h>\n", "agree", 0, 0},
    {"layers_accepts_the_wrapper", "low/foo.c", "#include <foo.h>\n", "agree", 0, 0},
    {"layers_accepts_a_wrapper_folder", "low/any.c", "#include <big/a/b.h>\n", "agree",
     0, 0},
    {"layers_accepts_a_wrapper_by_suffix", "low/any_linux.c",
     "#include <sys/special.h>\n", "agree", 0, 0},
    {"layers_rejects_a_library_beside_its_wrapper", "low/a.c", "#include <foo.h>\n",
     "low/a.c:1: <foo.h> is for low/foo.c only; call that wrapper", 1, 0},
    {"layers_rejects_a_library_by_another_path", "low/a.c", "#include <any/foo.h>\n",
     "<any/foo.h> is for low/foo.c only", 1, 0},
    {"layers_rejects_a_suffix_that_differs", "low/linux.c",
     "#include <sys/special.h>\n", "<sys/special.h> is for *_linux.c only", 1, 0},
    {"layers_rejects_an_unknown_library", "low/a.c", "#include <unknown.h>\n",
     "<unknown.h> has no row in layers.txt; give the library one wrapper", 1, 0},
    {"layers_accepts_what_parts_of_a_folder_share", "low/part/a.c",
     "#include \"low/support/shared.h\"\n", "agree", 0, 0},
    {"layers_rejects_what_parts_of_another_share", "high/a.c",
     "#include \"low/support/shared.h\"\n", "'low/support/shared.h' is private to low/",
     1, 0},
    {"layers_rejects_a_folder_below_that_has_a_row", "high/a.c",
     "#include \"high/sub/sub.h\"\n",
     "high/a.c:1: 'high' must not include 'high/sub/sub.h'; it may include: low", 1, 0},
    {"layers_rejects_a_ring_of_rows", "layers.txt",
     "low -> base\nbase ->\nhigh -> low/*\nlow/sub -> mid\nmid -> high\n",
     "layers.txt: the rows make a ring: ", 1, 0},
    {"layers_rejects_an_empty_tree", "readme.txt", "#include <unknown.h>\n",
     "no C file", 1, 0},
};

static row words_rows[] = {
    {"words_accepts_comments_and_strings", "cli/a.c",
     "/* malloc(1)\n free(x) */\nconst char *s = \"a\\\"b strcpy(x)\"; // gets(y)\n",
     "1 files are clean", 0, 0},
    {"words_accepts_longer_names", "cli/a.c", "kiln_free(x); my_strcpy(y);\n", "clean",
     0, 0},
    {"words_accepts_members", "cli/a.c", "x->free(y); x.free(y);\n", "clean", 0, 0},
    {"words_accepts_malloc_in_base", "base/a.c", "p = malloc(1);\n", "clean", 0, 0},
    {"words_rejects_malloc_elsewhere", "cli/a.c", "int x;\np = malloc (1);\n",
     "cli/a.c:2: malloc is not written here; instead: an arena", 1, 0},
    {"words_rejects_a_folder_with_a_common_start", "basement/a.c", "p = malloc(1);\n",
     "basement/a.c:1: malloc", 1, 0},
    {"words_rejects_strcpy_everywhere", "base/a.c", "strcpy(a, b);\n",
     "base/a.c:1: strcpy is not written here", 1, 0},
    {"words_accepts_a_switch_over_an_enum", "base/a.c", "switch (e->kind) {\n",
     "are clean", 0, 0},
    {"words_rejects_a_switch_over_a_cast", "base/a.c",
     "int x;\nswitch ((int)e->kind) {\n",
     "base/a.c:2: a switch over a cast is not written here", 1, 0},
    {"words_sees_code_after_a_comment", "base/a.c",
     "/* a */ atoi(s); /* b\n*/ gets(s);\n", "base/a.c:2: gets is not written here", 1,
     0},
};

static row lengths_rows[] = {
    {"lengths_accepts_80_lines", "cli/a.c", NULL, "within 80", 0, 78},
    {"lengths_rejects_81_lines", "cli/a.c", NULL,
     "cli/a.c:2: 'long_one' has 81 lines, at most 80; split it", 1, 79},
    {"lengths_accepts_a_long_table", "cli/a.c", "    1,\n", "within 80", 0, 200},
    {"lengths_rejects_a_long_file", "cli/a.c", "int x;\n",
     "cli/a.c:901: the file has 901 lines, at most 900", 1, 901},
};

/* Paths, one a line. */
static row files_rows[] = {
    {"files_accepts_names_of_their_own", "paths.txt", "low/low_run.c\nhigh/run.c\n",
     "each of 2 has its own name", 0, 0},
    {"files_accepts_a_folders_own_header", "paths.txt",
     "low/pool/pool.h\npool/pool.h\n", "each of 2", 0, 0},
    {"files_accepts_header_and_source", "paths.txt", "low/run.h\nlow/run.c\n",
     "each of 2", 0, 0},
    {"files_rejects_two_of_one_name", "paths.txt", "low/run.c\nhigh/run.c\n",
     "high/run.c and low/run.c: two files of one name; name both by their folder", 1,
     0},
    {"files_rejects_sources_named_by_their_folders", "paths.txt",
     "low/pool/pool.c\npool/pool.c\n", "pool/pool.c and low/pool/pool.c: two files", 1,
     0},
};

/* A header of the product, and beside it a source that calls what `text` says. */
static row unused_rows[] = {
    {"unused_accepts_callers", "base/a.c",
     "void kiln_one(int x) { kiln_two(KILN_THREE); }\nint y = kiln_one(KILN_FOUR);\n"
     "void kiln_two(int x) {}\n",
     "every declared name has a caller", 0, 0},
    {"unused_rejects_what_tests_alone_call", "base/a.c",
     "void kiln_one(int x) {}\nvoid kiln_two(int x) { x = KILN_THREE + KILN_FOUR; }\n"
     "int y = kiln_two(1);\n",
     "base/a.h:1: kiln_one is mentioned nowhere but in its definition and in tests", 1,
     0},
    {"unused_rejects_what_nobody_calls", "base/a.c",
     "void kiln_one(int x) { kiln_one(KILN_FOUR + KILN_THREE); }\n"
     "void kiln_two(int x) {}\n",
     "base/a.h:2: kiln_two is mentioned nowhere but in its definition\n", 1, 0},
    {"unused_rejects_enumerators", "base/a.c",
     "void kiln_one(int x) { kiln_two(KILN_FOUR); } /* KILN_THREE */\n"
     "void kiln_two(int x) { kiln_one(1); }\n",
     "base/a.h:4: KILN_THREE is mentioned nowhere but in its definition", 1, 0},
    {"unused_wants_no_stale_lines", "base/a.c",
     "void kiln_one(int x) { kiln_two(KILN_THREE); kiln_stays(); kiln_stays(); }\n"
     "int y = kiln_one(KILN_FOUR); void kiln_two(int x) {}\n",
     "kiln_stays has callers now, or is gone: take the line out", 1, 0},
};

static row tidy_rows[] = {
    {"tidy_accepts_what_is_clean", "low/b.c", "const int b = N;\n", "", 0, 0},
    {"tidy_rejects_a_finding", "low/b.c", "void b(int x) {\n    if (x < N);\n}\n",
     "low/b.c:2:15: error: potentially unintended semicolon", 1, 0},
    {"tidy_gives_files_their_own_flags", "low/b.c",
     "#ifdef N\nconst char *b = T;\n#endif\n", "", 0, 0},
};

static const char *root; /* the project's, absolute */

static const char *tool(const char *name) {
    return kiln_path_join(kiln_test_arena(), root, name);
}

static void put(const char *dir, const char *file, const char *text) {
    kiln_err err = {0};
    kiln_arena *a = kiln_test_arena();
    const char *path = kiln_path_join(a, dir, file);
    kiln_assert_status_ok(kiln_dir_make(kiln_path_dir(a, path), &err), &err);
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
}

static void run(const row *r, const char *dir, const char *const *argv) {
    kiln_err err = {0};
    kiln_process_result got;
    const kiln_process_options o = {
        .argv = argv, .dir = dir, .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(kiln_test_arena(), &o, &got, &err), &err);
    if (strstr(got.out.p, r->want) == NULL)
        fail_msg("wanted '%s', got '%s%s'", r->want, got.out.p, got.err.p);
    assert_int_equal(got.end, KILN_PROCESS_EXITED);
    assert_int_equal(got.code != 0, r->want_code); /* xargs has codes of its own */
}

static void check_layers(void **state) {
    const row *r = *state;
    const char *dir = kiln_test_dir();
    put(dir, "layers.txt", TABLE);
    put(dir, r->file, r->text);
    run(r, dir, (const char *const[]){tool("tools/layers.sh"), NULL});
}

static void check_words(void **state) {
    const row *r = *state;
    const char *dir = kiln_test_dir();
    put(dir, r->file, r->text);
    run(r, dir,
        (const char *const[]){"awk", "-f", tool("tools/code_of.awk"), "-f",
                              tool("tools/words.awk"), tool("tools/words.txt"), r->file,
                              NULL});
}

static void check_files(void **state) {
    const row *r = *state;
    const char *dir = kiln_test_dir();
    put(dir, r->file, r->text);
    run(r, dir,
        (const char *const[]){"awk", "-f", tool("tools/files.awk"), r->file, NULL});
}

static void check_unused(void **state) {
    const row *r = *state;
    const char *dir = kiln_test_dir();
    const bool is_listed = strstr(r->text, "kiln_stays") != NULL;
    put(dir, "base/a.h",
        "void kiln_one(int x);\nvoid kiln_two(int x);\nenum {\n    KILN_THREE,\n"
        "    KILN_FOUR\n};\n");
    put(dir, "tests/test_a.c", "void f(void) { kiln_one(KILN_THREE); }\n");
    put(dir, "unused.txt", is_listed ? "kiln_stays | a reason\n" : "# why some stay\n");
    put(dir, r->file, r->text);
    run(r, dir,
        (const char *const[]){"awk", "-f", tool("tools/code_of.awk"), "-f",
                              tool("tools/unused.awk"), "unused.txt", "base/a.h",
                              r->file, "tests/test_a.c", NULL});
}

/* A row without text is a function of `repeat` lines and its two ends. */
static void check_lengths(void **state) {
    const row *r = *state;
    const char *dir = kiln_test_dir();
    const bool function = r->text == NULL;
    const bool table = !function && r->text[0] == ' ';
    char text[16384];
    const char *first = function ? "\nint long_one(void) {\n" : "int t[] = {\n";
    size_t n =
        (size_t)snprintf(text, sizeof text, "%s", function || table ? first : "");
    for (int i = 0; i < r->repeat; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s",
                              function ? "    x++;\n" : r->text);
    snprintf(text + n, sizeof text - n, "%s", function ? "}\n" : table ? "};\n" : "");
    put(dir, r->file, text);
    run(r, dir,
        (const char *const[]){"awk", "-f", tool("tools/lengths.awk"), r->file, NULL});
}

static bool is_stamped(const char *dir, const char *file) {
    kiln_arena *a = kiln_test_arena();
    return kiln_file_exists(
        kiln_path_join(a, kiln_path_join(a, dir, "build/lint"), file));
}

static void check_tidy(void **state) {
    const row *r = *state;
    const char *dir = kiln_test_dir();
    put(dir, ".clang-tidy",
        "Checks: '-*,bugprone-suspicious-semicolon'\nWarningsAsErrors: '*'\n");
    put(dir, "a.c", "const int a = 1;\n");
    put(dir, r->file, r->text);
    put(dir, "list.txt", "a.c\nlow/b.c -DN=2 -DT='\"two words\"'\na.c\n");
    run(r, dir, (const char *const[]){tool("tools/tidy.sh"), "list.txt", NULL});
    assert_true(is_stamped(dir, "a.tidy"));
    assert_int_equal(is_stamped(dir, "low/b.tidy"), r->want_code == 0);
    /* The next make lists what is left. */
    assert_false(kiln_file_exists(kiln_path_join(kiln_test_arena(), dir, "list.txt")));
}

int main(void) {
    char buffer[4096];
    root = getcwd(buffer, sizeof buffer);
    kiln_test_add_rows(check_layers, layers_rows);
    kiln_test_add_rows(check_words, words_rows);
    kiln_test_add_rows(check_lengths, lengths_rows);
    kiln_test_add_rows(check_files, files_rows);
    kiln_test_add_rows(check_unused, unused_rows);
    kiln_test_add_rows(check_tidy, tidy_rows);
    return kiln_test_run("checks");
}
