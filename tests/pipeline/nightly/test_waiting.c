/* What somebody who waits for a night hears: logs that grow while stages run, how far
 * each is, how long the rest takes; and nights of a part of a pipeline. A stand-in for
 * kiln, a script, does what each test tells it. */
#include "pipeline/nightly/nightly.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* $FAKE/VERB, where it is there, is run in its middle; $log is of its stage. */
static const char script[] =
    "#!/bin/sh\n"
    "verb=$1 json= out= ops=\n"
    "while [ $# -gt 0 ]; do\n"
    "  case $1 in --json) json=$2;; -o) out=$2;; --ops) ops=1;; esac\n"
    "  shift\n"
    "done\n"
    "log=${json%/*}/log.txt\n"
    "[ ! -f \"$FAKE/$verb\" ] || . \"$FAKE/$verb\"\n"
    "text='{\"format\":\"kiln-bench-1\",\"output\":{\"ok\":true},"
    "\"threads\":[{\"median_ms\":1.5}]}'\n"
    "[ -z \"$ops\" ] || text='{\"format\":\"kiln-ops-1\",\"ops\":[{}],\"wrong\":0,"
    "\"refused\":0}'\n"
    "if [ $verb = build ]; then\n"
    "  printf archive > \"$out\"\n"
    "  sha=$(sha256sum \"$out\"); text='[{\"sha256\":\"'${sha%% *}'\"}]'\n"
    "fi\n"
    "echo \"$text\" > \"$json.tmp\" && mv \"$json.tmp\" \"$json\"\n"
    "exit ${code:-0}\n";

static const char pipeline[] =
    "{\"models\": [{\"name\": \"a\", \"source\": \"m.onnx\", \"threads\": [1, 2]},"
    " {\"name\": \"ab\", \"source\": \"m.onnx\"}],"
    " \"operators\": [{\"set\": \"gemm\"}],"
    " \"bench\": {\"require_baselines\": false}, \"limits\": {\"build\": %d}}";

enum { A_STAGES = 3, ALL_STAGES = 10 };

/* ---- a place to work in ---------------------------------------------------------- */

static const char *dir;

static const char *at(const char *name) {
    return kiln_path_join(kiln_test_arena(), dir, name);
}

static void write_file(const char *name, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(at(name), text, strlen(text), &err), &err);
}

static const char *read_file(const char *path) {
    kiln_str text;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &text, &err), &err);
    return kiln_str_dupv(kiln_test_arena(), text);
}

static void new_place(void) {
    dir = kiln_test_dir();
    write_file("kiln", script);
    assert_int_equal(chmod(at("kiln"), 0755), 0);
    write_file("ready.jsonl", "{\"kiln_ready_records\": 1}\n");
    write_file("m.onnx", "a model");
    write_file("p.json",
               kiln_format(kiln_test_arena(), pipeline, KILN_TEST_PATIENCE_S));
    setenv("FAKE", dir, 1);
    setenv("KILN_DATA", dir, 1);
}

/* ---- running --------------------------------------------------------------------- */

typedef struct heard {
    kiln_buf events, progress;
} heard;

static void note(void *user, const kiln_nightly_event *e) {
    heard *h = user;
    if (e->is_end)
        kiln_buf_printf(&h->events, "%s %s: %s%s%s\n", e->title, e->stage, e->state,
                        e->message != NULL ? ": " : "",
                        e->message != NULL ? e->message : "");
}

static void hear(void *user, const kiln_progress *p) {
    heard *h = user;
    kiln_progress_text(&h->progress, p);
    kiln_buf_puts(&h->progress, "\n");
}

static kiln_status plan(const char *const *only, size_t n_only, kiln_nightly_config *c,
                        kiln_nightly_graph *g, kiln_err *err) {
    const kiln_nightly_overrides over = {.only = only, .n_only = n_only};
    KILN_TRY(kiln_nightly_read(kiln_test_arena(), at("p.json"), &over, c, err));
    return kiln_nightly_plan(kiln_test_arena(), c, g, err);
}

static kiln_nightly_result run(const char *only, bool is_new, heard *h) {
    kiln_arena *a = kiln_test_arena();
    const kiln_nightly_options o = {
        .program = at("kiln"), .is_new = is_new, .progress = note, .user = h};
    kiln_nightly_config c;
    kiln_nightly_graph g;
    kiln_nightly_result r;
    kiln_err err = {0};
    kiln_buf_init(&h->events, a);
    kiln_buf_init(&h->progress, a);
    kiln_buf_puts(&h->progress, "\n");
    kiln_assert_status_ok(plan(&only, only != NULL, &c, &g, &err), &err);
    kiln_progress_watch(hear, h);
    const kiln_status st = kiln_nightly_run(a, &c, &g, &o, &r, &err);
    kiln_progress_watch(NULL, NULL);
    kiln_assert_status_ok(st, &err);
    print_message("%s%s", h->events.p, h->progress.p);
    return r;
}

static const char *log_of(const kiln_nightly_result *r, const char *stage) {
    kiln_arena *a = kiln_test_arena();
    return read_file(kiln_format(a, "%s/models/%s/log.txt", r->folder, stage));
}

/* ---- logs ------------------------------------------------------------------------ */

/* The stage goes on when it finds its own words there: at its limit it would fail. */
static void logs_grow_while_stages_run(void **state) {
    (void)state;
    heard h;
    new_place();
    write_file("build", "echo hello; echo there >&2\n"
                        "until grep -q hello $log && grep -q there $log; do\n"
                        "  sleep 0.01\n"
                        "done; printf 'no end'\n");
    const kiln_nightly_result r = run("ab", false, &h);
    assert_non_null(strstr(h.events.p, "ab, native, 1 thread build: done\n"));
    const char *log = log_of(&r, "ab/native-t1/build");
    assert_true(log[0] == '$' && log[1] == ' ');
    assert_non_null(strstr(log, "\nhello\n"));
    assert_non_null(strstr(log, "\nthere\n"));
    assert_non_null(strstr(log, "\nno end\n(ended by exit code 0 after "));
}

static void long_lines_and_floods_are_cut(void **state) {
    (void)state;
    heard h;
    new_place();
    write_file("build", "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end\n"
                        "echo said >&2\n");
    const kiln_nightly_result r = run("ab", false, &h);
    const char *log = log_of(&r, "ab/native-t1/build");
    assert_non_null(strstr(h.events.p, "build: done\n"));
    assert_non_null(strstr(log, "\n(more was printed)\n"));
    assert_null(strstr(log, "\nend\n"));
    assert_non_null(strstr(log, "said\n"));
    assert_in_range(strlen(log), 4 << 20, (4 << 20) + 1000);
}

/* ---- progress -------------------------------------------------------------------- */

static void progress_of_stages_is_heard(void **state) {
    (void)state;
    heard h;
    new_place();
    write_file("build",
               "echo \"progress by $KILN_PROGRESS\" >&2\n"
               "printf '\\036[\"proving\", \"steps\", 3, 9, 12, \"conv\"]\\n' >&2\n"
               "printf '\\036[\"pro' >&2; sleep 0.05\n"
               "printf 'ving\", \"steps\", 4, 9, null, null]\\n' >&2\n");
    const kiln_nightly_result r = run("ab", false, &h);
    assert_non_null(strstr(h.progress.p, "\n1 of 3  ab, native, 1 thread: build: "
                                         "proving: 3 of 9 steps, 12 s left: conv\n"));
    assert_non_null(strstr(h.progress.p, "\n1 of 3  ab, native, 1 thread: build: "
                                         "proving: 4 of 9 steps"));
    const char *log = log_of(&r, "ab/native-t1/build");
    assert_non_null(strstr(log, "\nprogress by lines\n"));
    assert_null(strstr(log, "steps"));
    assert_null(strchr(log, KILN_PROGRESS_MARK));
}

/* What it says last is an error, whatever it tells of its progress behind it. */
static void progress_is_no_message(void **state) {
    (void)state;
    heard h;
    new_place();
    write_file("build", "echo 'error: out of clay' >&2\n"
                        "printf '\\036[\"proving\", null, 1, 2, null, null]\\n' >&2\n"
                        "exit 3\n");
    (void)run("ab", false, &h);
    assert_non_null(
        strstr(h.events.p, "ab, native, 1 thread build: failed: out of clay\n"));
}

/* Of the night before each stage's time is known, so the rest of this one is. */
static void a_night_before_says_how_long(void **state) {
    (void)state;
    heard h;
    new_place();
    static const char says[] =
        "printf '\\036[\"at it\", null, 1, 2, 7, null]\\n' >&2\n";
    write_file("build", says);
    (void)run(NULL, false, &h);
    assert_null(strstr(h.progress.p, "the night: "));
    (void)run(NULL, true, &h);
    assert_non_null(strstr(h.progress.p,
                           "\n1 of 10  a, native, 1 thread: build: at it: "
                           "1 of 2, 7 s left: the night: "));
}

/* ---- parts of a pipeline --------------------------------------------------------- */

typedef struct part_row {
    const char *name, *only[3];
    int jobs, stages; /* 0: it is refused */
    const char *text;
} part_row;

static part_row part_rows[] = {
    {"all_of_it", {NULL}, 4, ALL_STAGES, NULL},
    {"one_model", {"ab"}, 1, A_STAGES, NULL},
    {"a_model_at_all_threads", {"a"}, 2, 2 * A_STAGES, NULL},
    {"names_by_pattern", {"a*"}, 3, 3 * A_STAGES, NULL},
    {"threads_by_number", {"*,native,2"}, 1, A_STAGES, NULL},
    {"a_list_of_operators", {"gemm"}, 1, 1, NULL},
    {"several", {"ab", "gemm,nat*"}, 2, A_STAGES + 1, NULL},
    {"the_same_twice", {"ab", "a?"}, 1, A_STAGES, NULL},
    {"refuses_what_nothing_has",
     {"ab", "resnet"},
     0,
     0,
     "--only must be MODEL[,PROFILE[,THREADS]] of some job, is 'resnet'; jobs: "
     "a,native,1 a,native,2 ab,native,1 gemm,native,1"},
    {"refuses_another_profile", {"a,x86-avx2"}, 0, 0, "is 'a,x86-avx2'; jobs: "},
    {"refuses_too_many_parts", {"a,native,1,2"}, 0, 0, "is 'a,native,1,2'"},
    {"refuses_nothing", {""}, 0, 0, "is ''"},
};

static void check_part(void **state) {
    const part_row *r = *state;
    kiln_nightly_config c;
    kiln_nightly_graph g;
    kiln_err err = {0};
    size_t n = 0;
    while (n < 3 && r->only[n] != NULL)
        n++;
    new_place();
    const kiln_status st = plan(r->only, n, &c, &g, &err);
    if (r->jobs == 0) {
        kiln_assert_fails(st, KILN_ERR_ARG, &err, r->text);
        return;
    }
    kiln_assert_status_ok(st, &err);
    assert_int_equal(g.job.n, r->jobs);
    assert_int_equal(g.stage.n, r->stages);
}

static void a_part_is_no_night(void **state) {
    (void)state;
    heard h;
    new_place();
    char link[4096] = "";
    const kiln_nightly_result whole = run(NULL, false, &h);
    assert_null(whole.results.past.problem);
    assert_int_equal(whole.results.past.nights, 1);
    const kiln_nightly_result part = run("ab", false, &h);
    assert_int_equal(part.n_stages, A_STAGES);
    assert_int_equal(part.n_done, A_STAGES);
    assert_string_equal(part.results.past.problem,
                        "it is a part of the pipeline: --only ab");
    assert_non_null(strstr(part.results.command, " --only ab"));
    assert_true(readlink(at("out/latest"), link, sizeof link - 1) > 0);
    assert_string_equal(link, kiln_path_base(whole.folder));
    memset(link, 0, sizeof link);
    assert_true(readlink(at("out/current"), link, sizeof link - 1) > 0);
    assert_string_equal(link, kiln_path_base(part.folder));
    /* The next whole one is the second night. */
    const kiln_nightly_result next = run(NULL, false, &h);
    assert_int_equal(next.results.past.nights, 2);
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_nightly_text(&text, &part);
    assert_non_null(strstr(
        text.p, "history: not in it: it is a part of the pipeline: --only ab\n"));
}

int main(void) {
    kiln_test_add_rows(check_part, part_rows);
    kiln_test_add("logs_grow_while_stages_run", logs_grow_while_stages_run, NULL);
    kiln_test_add("long_lines_and_floods_are_cut", long_lines_and_floods_are_cut, NULL);
    kiln_test_add("progress_of_stages_is_heard", progress_of_stages_is_heard, NULL);
    kiln_test_add("progress_is_no_message", progress_is_no_message, NULL);
    kiln_test_add("a_night_before_says_how_long", a_night_before_says_how_long, NULL);
    kiln_test_add("a_part_is_no_night", a_part_is_no_night, NULL);
    return kiln_test_run("nightly: waiting");
}
