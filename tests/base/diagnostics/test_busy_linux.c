/* Who had the processors, by folders like /proc that the test writes: what is counted,
 * what is ours, what had ended. */
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A hundred ticks a second, as everywhere; 10 s between the moments. */
static const double tick = 0.01;

typedef struct fake {
    int pid, parent;
    const char *name;
    int own, children; /* ticks */
    int start;
} fake;

static void write_file(const char *dir, const char *name, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(kiln_path_join(kiln_test_arena(), dir, name),
                                          text, strlen(text), &err),
                          &err);
}

/* Two processors, `busy` ticks of both, `stolen` by the hypervisor. */
static const kiln_busy *moment(double at_s, int busy, int stolen, const fake *p,
                               size_t n) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const char *dir = kiln_test_dir();
    write_file(dir, "uptime", kiln_format(a, "%.2f 1.00\n", at_s));
    write_file(dir, "stat",
               kiln_format(a,
                           "cpu  %d 0 3 99999 777 2 0 %d 0 0\ncpu0 1 1 1 1\n"
                           "cpu1 1 1 1 1\nintr 5\n",
                           busy - 5, stolen));
    for (size_t i = 0; i < n; i++) {
        const char *of = kiln_format(a, "%s/%d", dir, p[i].pid);
        kiln_assert_status_ok(kiln_dir_make(of, &err), &err);
        write_file(
            of, "stat",
            kiln_format(a,
                        "%d (%s) S %d 1 1 0 -1 4194304 10 0 0 0 %d 1 %d 0 20 0 1 "
                        "0 %d 1000 100\n",
                        p[i].pid, p[i].name, p[i].parent, p[i].own - 1, p[i].children,
                        p[i].start));
    }
    write_file(dir, "self", "no folder of a process");
    return kiln_busy_now(a, dir);
}

static kiln_busy_report between(const fake *was, size_t n_was, const fake *is,
                                size_t n_is, int busy, int stolen) {
    kiln_busy_report r;
    const kiln_busy *before = moment(1000, 5000, 70, was, n_was);
    const kiln_busy *after = moment(1010, 5000 + busy, 70 + stolen, is, n_is);
    assert_non_null(before);
    assert_non_null(after);
    assert_int_equal(sysconf(_SC_CLK_TCK), 100);
    kiln_busy_between(kiln_test_arena(), before, after, 50, &r);
    return r;
}

#define COUNT(x) (sizeof(x) / sizeof(x)[0])

static bool is_about(double x, double y) { return fabs(x - y) < 1e-9; }

static void names_who_had_them(void **state) {
    (void)state;
    const fake was[] = {{1, 0, "init", 100, 0, 1},
                        {50, 1, "kiln", 500, 40, 9},
                        {70, 1, "a (b) c", 10, 0, 20},
                        {71, 1, "stress", 10, 0, 21},
                        {72, 1, "stress", 10, 0, 22}};
    const fake is[] = {{1, 0, "init", 100, 0, 1},        {50, 1, "kiln", 520, 140, 9},
                       {60, 50, "kiln-run", 300, 0, 99}, /* ours: it is not counted */
                       {61, 60, "worker", 50, 0, 100},   {70, 1, "a (b) c", 210, 0, 20},
                       {71, 1, "stress", 310, 0, 21},    {72, 1, "stress", 410, 0, 22}};
    /* 470 ours, 900 theirs, 30 of nobody that is seen; 50 stolen */
    const kiln_busy_report r = between(was, COUNT(was), is, COUNT(is), 1400, 50);
    assert_true(is_about(r.seconds, 10) && r.processors == 2);
    assert_int_equal(r.n, 2);
    assert_string_equal(r.row[0].name, "stress");
    assert_int_equal(r.row[0].n, 2);
    assert_true(is_about(r.row[0].processors, 700 * tick / 10));
    assert_string_equal(r.row[1].name, "a (b) c");
    assert_true(is_about(r.row[1].processors, 0.2));
    assert_true(is_about(r.unseen, 0.03) && is_about(r.hypervisor, 0.05));
    assert_true(is_about(r.taken, 0.98));
    assert_string_equal(
        kiln_busy_text(kiln_test_arena(), &r),
        "others took 0.98 of 2 processors: stress 0.70 (2 processes), a (b) c 0.20, "
        "what is not seen from here 0.03, the hypervisor 0.05");
}

/* make waits for compilers: they have ended, make has their time, without what they had
 * used at the first moment. */
static void counts_what_has_ended(void **state) {
    (void)state;
    const fake was[] = {{70, 1, "make", 10, 1000, 20}, {71, 70, "cc", 400, 0, 30}};
    const fake is[] = {{70, 1, "make", 10, 1900, 20}};
    const kiln_busy_report r = between(was, COUNT(was), is, COUNT(is), 500, 0);
    assert_int_equal(r.n, 1);
    assert_string_equal(r.row[0].name, "make");
    assert_true(is_about(r.row[0].processors, 0.5));
    assert_true(is_about(r.taken, 0.5));
}

/* A whole tree has ended: a shell waited for make, make for the compiler. */
static void counts_trees_that_have_ended(void **state) {
    (void)state;
    const fake was[] = {{60, 1, "sh", 10, 500, 10},
                        {70, 60, "make", 20, 1000, 20},
                        {71, 70, "cc", 400, 0, 30}};
    const fake is[] = {{60, 1, "sh", 10, 500 + 20 + 1000 + 400 + 300, 10}};
    const kiln_busy_report r = between(was, COUNT(was), is, COUNT(is), 300, 0);
    assert_int_equal(r.n, 1);
    assert_string_equal(r.row[0].name, "sh");
    assert_true(is_about(r.row[0].processors, 0.3) && is_about(r.taken, 0.3));
}

/* Parts that say more than the whole are no more than the whole. */
static void parts_are_no_more_than_the_whole(void **state) {
    (void)state;
    const fake was[] = {{50, 1, "kiln", 0, 0, 9},
                        {60, 1, "reaper", 0, 0, 10},
                        {70, 1, "busy", 100, 0, 11}};
    const fake is[] = {{50, 1, "kiln", 200, 0, 9},
                       {60, 1, "reaper", 0, 3000, 10},
                       {70, 1, "busy", 1100, 0, 11}};
    const kiln_busy_report r = between(was, COUNT(was), is, COUNT(is), 1200, 0);
    assert_true(is_about(r.taken, 1) && r.unseen < 1e-9);
    assert_true(is_about(r.row[0].processors, 0.75));
    assert_true(is_about(r.row[1].processors, 0.25));
}

/* A number that another process has now. */
static void tells_processes_with_one_number_apart(void **state) {
    (void)state;
    const fake was[] = {{70, 1, "old", 900, 0, 20}};
    const fake is[] = {{70, 1, "new", 100, 0, 500}};
    const kiln_busy_report r = between(was, COUNT(was), is, COUNT(is), 100, 0);
    assert_int_equal(r.n, 1);
    assert_string_equal(r.row[0].name, "new");
    assert_true(is_about(r.row[0].processors, 0.1));
}

static void says_nothing_of_a_quiet_machine(void **state) {
    (void)state;
    const fake was[] = {{50, 1, "kiln", 500, 0, 9}, {70, 1, "idle", 10, 0, 20}};
    const fake is[] = {{50, 1, "kiln", 1500, 0, 9}, {70, 1, "idle", 11, 0, 20}};
    const kiln_busy_report r = between(was, COUNT(was), is, COUNT(is), 1001, 0);
    assert_int_equal(r.n, 0);
    assert_null(kiln_busy_text(kiln_test_arena(), &r));
}

static void lists_the_greatest(void **state) {
    (void)state;
    fake is[9];
    for (int i = 0; i < 9; i++)
        is[i] = (fake){100 + i,      1, kiln_format(kiln_test_arena(), "p%d", i),
                       100 + 10 * i, 0, 30};
    const kiln_busy_report r = between(is, 0, is, COUNT(is), 1260, 0);
    assert_int_equal(r.n, KILN_BUSY_MOST);
    assert_string_equal(r.row[0].name, "p8");
    assert_string_equal(r.row[KILN_BUSY_MOST - 1].name, "p5");
    assert_true(is_about(r.taken, 1.26));
}

static void knows_nothing_without_proc(void **state) {
    (void)state;
    kiln_busy_report r = {.taken = 3};
    const char *dir = kiln_test_dir();
    assert_null(kiln_busy_now(kiln_test_arena(), dir));
    write_file(dir, "uptime", "12.5 3\n");
    write_file(dir, "stat", "no such line\n");
    assert_null(kiln_busy_now(kiln_test_arena(), dir));
    kiln_busy_between(kiln_test_arena(), NULL, NULL, 1, &r);
    assert_true(r.processors == 0 && r.taken == 0);
    assert_null(kiln_busy_text(kiln_test_arena(), &r));
}

/* What this test itself uses is its own, whatever else the machine does. */
static void reads_this_machine(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_busy_report all, others;
    const kiln_busy *before = kiln_busy_now(a, NULL);
    assert_non_null(before);
    const clock_t until = clock() + CLOCKS_PER_SEC / 4; /* of our own time */
    while (clock() < until)
        ;
    const kiln_busy *after = kiln_busy_now(a, NULL);
    kiln_busy_between(a, before, after, -1, &all); /* nobody is ours */
    kiln_busy_between(a, before, after, getpid(), &others);
    assert_true(all.processors >= 1 && all.seconds > 0.1);
    assert_true(all.taken > others.taken);
    const char *text = kiln_busy_text(a, &all);
    print_message("%s\n", text);
    assert_non_null(text);
}

int main(void) {
    kiln_test_add("names_who_had_them", names_who_had_them, NULL);
    kiln_test_add("counts_what_has_ended", counts_what_has_ended, NULL);
    kiln_test_add("counts_trees_that_have_ended", counts_trees_that_have_ended, NULL);
    kiln_test_add("parts_are_no_more_than_the_whole", parts_are_no_more_than_the_whole,
                  NULL);
    kiln_test_add("tells_processes_with_one_number_apart",
                  tells_processes_with_one_number_apart, NULL);
    kiln_test_add("says_nothing_of_a_quiet_machine", says_nothing_of_a_quiet_machine,
                  NULL);
    kiln_test_add("lists_the_greatest", lists_the_greatest, NULL);
    kiln_test_add("knows_nothing_without_proc", knows_nothing_without_proc, NULL);
    kiln_test_add("reads_this_machine", reads_this_machine, NULL);
    return kiln_test_run("base: busy");
}
