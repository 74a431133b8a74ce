/* Programs of libraries, whatever they do: answer, refuse, crash, hang, babble, or are
 * not there. A shell script in KILN_LIBEXEC stands for one. */
#include "tests/support/measuring/described.h"
#include "tests/support/measuring/fake_baseline.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define LINE "max_pool x in=f32[1,1,2,2] kernel=2,2"

static const kiln_baseline *onednn(void) {
    const kiln_baseline *const *list;
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(kiln_baselines_parse(kiln_test_arena(), "onednn",
                                               KILN_BASELINE_OPERATORS, &list, &err),
                          &err);
    return list[0];
}

/* The programs are looked for in `dir` alone. Returns what was there, for `back`. */
static const char *use(const char *dir) {
    const char *old = getenv("KILN_LIBEXEC");
    old = old != NULL ? kiln_str_dup(kiln_test_arena(), old) : NULL;
    assert_int_equal(setenv("KILN_LIBEXEC", dir, 1), 0);
    return old;
}

static void back(const char *old) {
    if (old == NULL)
        assert_int_equal(unsetenv("KILN_LIBEXEC"), 0);
    else
        assert_int_equal(setenv("KILN_LIBEXEC", old, 1), 0);
}

typedef struct row {
    const char *name;
    const char *script;
    const char *open_fails, *run_fails; /* text; NULL: goes well */
} row;

static row rows[] = {
    {"answers", "case $line in *load*) give @OUT;; *) sample;; esac", NULL, NULL},
    {"refuses", "echo '{\"problem\": \"no such operator in oneDNN\"}'",
     "no such operator in oneDNN", NULL},
    {"exits", "echo >&2 'no memory'; exit 3",
     "the process 'kiln-onednn' ended with code 3; it said last:\nno memory", NULL},
    {"crashes", "kill -SEGV $$", "the process 'kiln-onednn' was ended by signal 11",
     NULL},
    {"hangs", "sleep 3600", "did not answer in time and was ended", NULL},
    {"babbles", "echo onednn_verbose,info", "answered what is no answer: 'onednn_v",
     NULL},
    {"promises_an_output_and_writes_none", "echo '{}'", "out0.npy", NULL},
    {"gives_another_shape", "case $line in *load*) give @BAD;; esac",
     "the output has another shape or type than the operator's", NULL},
    {"crashes_in_a_run", "case $line in *load*) give @OUT;; *) kill -ABRT $$;; esac",
     NULL, "was ended by signal 6"},
    {"gives_no_times", "case $line in *load*) give @OUT;; *) echo '{}';; esac", NULL,
     "answered without 'wall_ns', 'cpu_ns' and 'preempted'"},
    {"hangs_in_a_run", "case $line in *load*) give @OUT;; *) sleep 3600;; esac", NULL,
     "did not answer in time and was ended"},
};

/* @OUT in a script is a file of the right shape, @BAD one of another. */
static const char *with_files(const char *script) {
    kiln_arena *a = kiln_test_arena();
    const char *at = strchr(script, '@');
    if (at == NULL)
        return script;
    const int64_t n = strncmp(at, "@OUT", 4) == 0 ? 1 : 3;
    const kiln_type t = kiln_type_make(KILN_F32, 4, (int64_t[]){1, 1, 1, n});
    kiln_tensor v = kiln_tensor_new(a, &t);
    ((float *)v.data)[0] = 5;
    const char *file = kiln_path_join(a, kiln_test_dir(), n == 1 ? "out.npy" : "b.npy");
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(kiln_tensor_write_npy(file, &v, &err), &err);
    return kiln_format(a, "%.*s%s%s", (int)(at - script), script, file, at + 4);
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_test_described d;
    kiln_baseline_session s;
    kiln_baseline_sample sample;
    kiln_assert_status_ok(kiln_test_describe(LINE, &d, &err), &err);
    const kiln_baseline_op_job job = {
        .op = &d.op, .threads = 1, .limit_ms = kiln_test_answer_ms(r->open_fails)};
    const char *old = use(kiln_test_fake_program("kiln-onednn", with_files(r->script)));
    kiln_status st = onednn()->open_op(onednn(), &a, &job, &s, &err);
    back(old);
    if (r->open_fails != NULL) {
        assert_int_not_equal(st, KILN_OK);
        if (strstr(err.text, r->open_fails) == NULL)
            fail_msg("'%s' is not in: %s", r->open_fails, err.text);
        kiln_arena_fini(&a);
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_assert_close(s.out[0].data, ((const float[]){5}), 1, 0, 0);
    kiln_test_answer_within(&s, kiln_test_answer_ms(r->run_fails));
    st = onednn()->run(&s, 3, &sample, &err);
    if (r->run_fails != NULL) {
        kiln_assert_fails(st, KILN_ERR_LIB, &err, r->run_fails);
    } else {
        kiln_assert_status_ok(st, &err);
        assert_int_equal(sample.wall_ns, 2000000);
    }
    kiln_arena_fini(&a);
}

/* How to have a newer one than Debian's, on this machine. */
static const char *newer(void) {
    struct utsname u;
    assert_int_equal(uname(&u), 0);
    return strcmp(u.machine, "x86_64") == 0
               ? "'kiln baselines install --only onednn' gets 3.2 (of 2023)"
               : kiln_format(kiln_test_arena(),
                             "there is no wheel of a newer one for this machine (%s)",
                             u.machine);
}

static void tells_what_is_here(void **state) {
    (void)state;
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    const char *old = use(kiln_test_fake_program("kiln-onednn", "exit"));
    kiln_assert_status_ok(onednn()->find(onednn(), kiln_test_arena(), "", &here, &err),
                          &err);
    assert_true(here.is_here);
    assert_string_equal(here.version, "1.2.3");
    assert_string_equal(here.hint, newer());
    (void)use(kiln_test_fake_program("kiln-onednn", NULL));
    kiln_assert_status_ok(onednn()->find(onednn(), kiln_test_arena(), "", &here, &err),
                          &err);
    back(old);
    assert_false(here.is_here);
    const char *begin = "kiln was built without it; install Debian's libdnnl-dev and "
                        "build kiln again; ";
    assert_memory_equal(here.remedy, begin, strlen(begin));
    assert_string_equal(here.remedy + strlen(begin), newer());
}

/* Its library may have gone since kiln was built: broken is not absent. */
static void tells_what_is_broken(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    static const char broken[] =
        "#!/bin/sh\necho 'libdnnl.so.2: cannot open' >&2; exit 127\n";
    const char *dir = kiln_test_fake_program("kiln-onednn", NULL);
    const char *program = kiln_path_join(a, dir, "kiln-onednn");
    kiln_assert_status_ok(kiln_file_write(program, broken, sizeof broken - 1, &err),
                          &err);
    assert_int_equal(chmod(program, 0700), 0);
    const char *old = use(dir);
    const kiln_status st = onednn()->find(onednn(), a, "", &here, &err);
    back(old);
    kiln_assert_fails(st, KILN_ERR_LIB, &err,
                      "cannot say which version of 'onednn' is here: libdnnl.so.2: "
                      "cannot open");
}

/* ---- clocks ---------------------------------------------------------------------- */

typedef struct clock_row {
    const char *name;
    kiln_baseline_sample sample;
    int threads;
    double ms; /* of four runs */
    bool is_disturbed;
} clock_row;

static clock_row clocks[] = {
    {"wall_of_one_thread", {4000000, 3990000, 0}, 1, 1, false},
    {"a_preemption_that_took_no_time", {4000000, 3990000, 2}, 1, 1, false},
    {"own_time_of_one_thread", {8000000, 4000000, 1}, 1, 1, true},
    {"wall_of_two_threads", {4000000, 7000000, 0}, 2, 1, false},
    {"wall_of_two_that_wait", {4000000, 3000000, 0}, 2, 1, false},
    {"two_that_were_preempted", {8000000, 9000000, 1}, 2, 2, true},
};

static void check_clock(void **state) {
    const clock_row *r = *state;
    bool is_disturbed;
    const double ms = kiln_baseline_ms(&r->sample, 4, r->threads, &is_disturbed);
    kiln_assert_close_f64(&ms, &r->ms, 1, 1, 0);
    assert_int_equal(is_disturbed, r->is_disturbed);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("tells_what_is_here", tells_what_is_here, NULL);
    kiln_test_add("tells_what_is_broken", tells_what_is_broken, NULL);
    kiln_test_add_rows(check_clock, clocks);
    return kiln_test_run("program");
}
