/* A disk that is full, not a limit that looks like one: a small tmpfs, mounted in a
 * mount namespace of this program's own. With every amount of room that is left at some
 * moment, what was accepted or appended stays, the message names the file and what to
 * do, nothing half-written stays, and the same command works once there is room. */
#include "tests/support/program/cli_run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096 };
static const char size_of_disk[] = "size=4m";

static const char *dir, *disk, *ballast;
static char refusal[256]; /* why there is no such disk here */

#define MODEL "demo/samplenet/samplenet.onnx"
static const char remedy[] = "make room there, then run the same command again";

static const char *at(const char *name) {
    return kiln_path_join(kiln_test_arena(), dir, name);
}

/* ---- the disk -------------------------------------------------------------------- */

static bool write_text(const char *path, const char *text) {
    const int fd = open(path, O_WRONLY);
    const bool is_good = fd >= 0 && write(fd, text, strlen(text)) > 0;
    if (fd >= 0)
        close(fd);
    return is_good;
}

/* Whoever runs this is root in it, and nobody else sees its mounts. */
static bool enter_namespaces(void) {
    char uid[64], gid[64];
    snprintf(uid, sizeof uid, "0 %ld 1", (long)getuid());
    snprintf(gid, sizeof gid, "0 %ld 1", (long)getgid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", uid) &&
           write_text("/proc/self/gid_map", gid) &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Before what lies in it is removed: a folder that is mounted on cannot be. */
static void unmount(void) { (void)umount2(disk, MNT_DETACH); }

static void make_disk(void) {
    if (!enter_namespaces() || mkdir(disk, 0700) != 0 ||
        mount("kiln-test", disk, "tmpfs", MS_NOSUID | MS_NODEV, size_of_disk) != 0)
        snprintf(refusal, sizeof refusal, "no disk of our own in a namespace: %s",
                 strerror(errno));
    else
        atexit(unmount);
}

/* An empty one, for each test. */
static void needs_disk(void) {
    if (getenv("KILN") == NULL)
        kiln_test_skip("KILN does not name the kiln program: 'make e2e'");
    if (refusal[0] != '\0')
        kiln_test_skip("%s", refusal);
    (void)umount2(disk, MNT_DETACH);
    if (mount("kiln-test", disk, "tmpfs", MS_NOSUID | MS_NODEV, size_of_disk) != 0)
        fail_msg("no disk: %s", strerror(errno));
}

/* All but so many bytes are taken. */
static void fill(int left) {
    static const char block[BLOCK];
    const int fd = open(ballast, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    off_t n = 0;
    assert_true(fd >= 0);
    for (ssize_t got; (got = write(fd, block, BLOCK)) > 0;)
        n += got;
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(ftruncate(fd, n > left ? n - left : 0), 0);
    assert_int_equal(close(fd), 0);
}

static void make_room(void) { assert_true(unlink(ballast) == 0 || errno == ENOENT); }

/* Names in the folder but for the ballast; "": there are none. */
static const char *names_in(const char *folder) {
    kiln_arena *a = kiln_test_arena();
    kiln_buf text;
    char **names = NULL;
    size_t n = 0;
    kiln_err err = {0};
    kiln_buf_init(&text, a);
    kiln_assert_status_ok(kiln_dir_list(a, folder, &names, &n, &err), &err);
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], kiln_path_base(ballast)) != 0)
            kiln_buf_printf(&text, "%s\n", names[i]);
    return kiln_str_dupv(a, kiln_buf_str(&text));
}

/* ---- running kiln ---------------------------------------------------------------- */

static kiln_process_result run(const char *const *arg) {
    return kiln_test_cli_run(kiln_test_arena(), dir, arg);
}
#define RUN(...) run((const char *const[KILN_TEST_CLI_ARGS]){__VA_ARGS__})

static void must(kiln_process_result r, int code, const char *text) {
    if (r.code != code || (text != NULL && strstr(r.out.p, text) == NULL &&
                           strstr(r.err.p, text) == NULL))
        fail_msg("exit code %d, must be %d with '%s':\n%s%s", r.code, code,
                 text != NULL ? text : "", r.out.p, r.err.p);
}

/* It ended well, or said that this file had no room, and what to do. */
static bool ended(kiln_process_result r, const char *file) {
    if (r.code == 0)
        return true;
    must(r, 4, file);
    must(r, 4, remedy);
    return false;
}

static kiln_str bytes_of(const char *path) {
    kiln_str bytes = {"", 0};
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &bytes, &err),
                          &err);
    return (kiln_str){kiln_arena_dup(kiln_test_arena(), bytes.p, bytes.n), bytes.n};
}

/* What is left grows from nothing; at least once it is too little, and with all of it
 * the last one ends well. */
static const int room[] = {0, 4096, 16384, 32768, 65536, 131072, 262144, 524288};
enum { N_ROOMS = sizeof room / sizeof room[0] };

/* Under a sanitizer every second but for the last: what is written at which room is the
 * same there. */
static int next_room(int i) {
    return i + (i < N_ROOMS - 2 && kiln_test_cases(3) == 1 ? 2 : 1);
}

/* ---- what is written ------------------------------------------------------------- */

static void builds_leave_no_part(void **state) {
    (void)state;
    needs_disk();
    int n_full = 0;
    for (int i = 0; i < N_ROOMS; i = next_room(i)) {
        fill(room[i]);
        const kiln_process_result r =
            RUN("build", MODEL, "--profile", "native", "-o", "@disk/x.tar.zst");
        const bool is_there = ended(r, at("disk/x.tar.zst"));
        assert_string_equal(names_in(disk), is_there ? "x.tar.zst\n" : "");
        (void)unlink(at("disk/x.tar.zst"));
        n_full += !is_there;
    }
    assert_true(n_full > 0 && n_full < N_ROOMS);
}

static void make_archives(void **state) {
    (void)state;
    must(RUN("build", MODEL, "--profile", "native", "-o", "@one.tar.zst"), 0, NULL);
    must(RUN("build", MODEL, "--profile", "native", "--version", "2", "-o",
             "@two.tar.zst"),
         0, NULL);
}

static void acceptances_keep_what_was_accepted(void **state) {
    (void)state;
    needs_disk();
    int n_full = 0;
    must(RUN("accept", "@one.tar.zst", "--to", "@disk/acc", "--trust"), 0, NULL);
    const kiln_str before = bytes_of(at("disk/acc/accepted.json"));
    const char *names = names_in(at("disk/acc"));
    for (int i = 0; i < N_ROOMS; i = next_room(i)) {
        fill(room[i]);
        if (ended(RUN("accept", "@two.tar.zst", "--to", "@disk/acc", "--trust"),
                  at("disk/acc/")))
            break;
        assert_true(kiln_str_eq(before, bytes_of(at("disk/acc/accepted.json"))));
        assert_string_equal(names_in(at("disk/acc")), names);
        n_full++;
    }
    assert_true(n_full > 0 && n_full < N_ROOMS);
    make_room();
    must(RUN("accept", "@two.tar.zst", "--to", "@disk/acc", "--trust"), 0, NULL);
    must(RUN("gate", "@two.tar.zst", "--against", "@disk/acc"), 0, "equal");
}

/* What a killed or full write of a database leaves beside it is the database's own:
 * the next command makes the file whole, and until then it holds what it held. */
static void tuning_keeps_its_trials(void **state) {
    (void)state;
    needs_disk();
    int n_full = 0;
    for (int i = 0; i < N_ROOMS; i = next_room(i)) {
        fill(room[i]);
        n_full += !ended(RUN("tune", MODEL, "--profile", "native", "--db", "@disk/t.db",
                             "--trials", "6"),
                         at("disk/t.db"));
    }
    assert_true(n_full > 0);
    make_room();
    must(RUN("tune", MODEL, "--profile", "native", "--db", "@disk/t.db", "--trials",
             "6"),
         0, NULL);
    assert_string_equal(names_in(disk), "t.db\n");
    must(RUN("db", "check", "--db", "@disk/t.db"), 0, NULL);
}

/* ---- nights ---------------------------------------------------------------------- */

static void write_pipeline(const char *name, const char *out) {
    const char *model = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_path_real(kiln_test_arena(), MODEL, &model, &err), &err);
    const char *text = kiln_format(
        kiln_test_arena(),
        "{\"models\": [{\"name\": \"a\", \"source\": \"%s\", \"tune\": null}], "
        "\"bench\": {\"rounds\": 2}, \"out\": \"%s\", \"db\": \"%s\", "
        "\"history\": \"%s\"}",
        model, out, at("nights.tuned.db"), at("disk/history.db"));
    kiln_assert_status_ok(kiln_file_write(at(name), text, strlen(text), &err), &err);
}

static void history_holds(int n_nights) {
    must(RUN("history", "check", "@disk/history.db"), 0, "0 problems");
    must(RUN("history", "list", "@disk/history.db"), 0,
         kiln_format(kiln_test_arena(), "\n%d night%s, ", n_nights,
                     kiln_plural(n_nights)));
}

/* The newest run under a name that stays. */
static void keep_as_first(void) {
    char name[256] = "";
    const ssize_t n = readlink(at("out/latest"), name, sizeof name - 1);
    assert_true(n > 0);
    assert_int_equal(
        symlink(kiln_format(kiln_test_arena(), "out/%s", name), at("first")), 0);
}

/* The night is made, its results are there: it says that its history is not, and by
 * what command it comes there. */
static void nights_keep_their_history(void **state) {
    (void)state;
    needs_disk();
    int n_held = 1, n_full = 0;
    write_pipeline("p.json", "out");
    must(RUN("nightly", "@p.json", "--new"), 0, "verdict: ");
    keep_as_first();
    for (int i = 0; i < N_ROOMS && room[i] <= 65536; i = next_room(i)) {
        fill(room[i]);
        const kiln_process_result r = RUN("nightly", "@p.json", "--new");
        assert_true(kiln_file_exists(at("out/latest/results.json")));
        n_held += r.code == 0;
        n_full += r.code != 0;
        if (r.code != 0) {
            must(r, 1, at("disk/history.db"));
            must(r, 1, remedy);
            must(r, 1, "kiln history add");
        }
        history_holds(n_held);
        assert_string_equal(names_in(disk), "history.db\n");
    }
    assert_true(n_full > 0 && n_held > 1);
}

static void added_and_pruned_nights_are_whole(void **state) {
    (void)state;
    needs_disk();
    const char *run_folder = at("out/latest");
    int n_full = 0;
    for (int i = 0; i < N_ROOMS; i = next_room(i)) {
        fill(room[i]);
        if (ended(RUN("history", "add", "@disk/new.db", run_folder), at("disk/new.db")))
            must(RUN("history", "list", "@disk/new.db"), 0, "\n1 night, ");
        else
            n_full++;
        (void)unlink(at("disk/new.db"));
    }
    assert_true(n_full > 0 && n_full < N_ROOMS);
    make_room();
    must(RUN("history", "add", "@disk/history.db", run_folder, at("first")), 0, NULL);
    for (int i = 0; i < N_ROOMS; i = next_room(i)) {
        fill(room[i]);
        if (ended(RUN("history", "prune", "@disk/history.db", "--forget", "1"),
                  at("disk/history.db"))) {
            assert_true(i > 0);
            break;
        }
        must(RUN("history", "check", "@disk/history.db"), 0, "0 problems");
    }
    history_holds(1);
    make_room();
}

/* All of a night's own folder: each stage has no room, or the night's list of them. */
static void nights_on_a_full_disk_end_with_a_reason(void **state) {
    (void)state;
    needs_disk();
    write_pipeline("q.json", at("disk/out"));
    must(RUN("nightly", "@p.json", "--new"), 0, "verdict: ");
    for (int i = 0; i < N_ROOMS; i = next_room(i)) {
        fill(room[i]);
        const kiln_process_result r = RUN("nightly", "@q.json", "--new");
        if (r.code == 0)
            continue;
        assert_true(r.code == 1 || r.code == 4);
        must(r, r.code, "o space left"); /* on device; for the database */
        must(r, r.code, "make room there");
        must(RUN("history", "check", "@disk/history.db"), 0, "0 problems");
    }
    make_room();
    must(RUN("nightly", "@q.json", "--new"), 0, "verdict: ");
}

int main(void) {
    dir = kiln_test_dir();
    disk = at("disk");
    ballast = at("disk/ballast");
    if (mkdir(at("tmp-of-kiln"), 0700) != 0 ||
        setenv("TMPDIR", at("tmp-of-kiln"), 1) != 0)
        return 1;
    kiln_test_own_home();
    make_disk();
    kiln_test_add("builds_leave_no_part", builds_leave_no_part, NULL);
    kiln_test_add("make_archives", make_archives, NULL);
    kiln_test_add("acceptances_keep_what_was_accepted",
                  acceptances_keep_what_was_accepted, NULL);
    kiln_test_add("tuning_keeps_its_trials", tuning_keeps_its_trials, NULL);
    kiln_test_add("nights_keep_their_history", nights_keep_their_history, NULL);
    kiln_test_add("added_and_pruned_nights_are_whole",
                  added_and_pruned_nights_are_whole, NULL);
    kiln_test_add("nights_on_a_full_disk_end_with_a_reason",
                  nights_on_a_full_disk_end_with_a_reason, NULL);
    return kiln_test_run("full_disk");
}
