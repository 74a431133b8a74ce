/* Several instances at once: what is counted adds up, a wrong output gives no number,
 * an interrupt ends it. Times themselves are not looked at. */
#include "pipeline/bench/bench.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/support_subject.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static const int threads[] = {1, 2}, instances[] = {1, 3};

static kiln_load loaded(const kiln_subject *s, int n_threads) {
    const kiln_load_options o = {.threads = threads,
                                 .n_threads = n_threads,
                                 .instances = instances,
                                 .n_instances = 2,
                                 .seconds = 0.1};
    kiln_load l;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_load_run(kiln_test_arena(), s, &o, &l, &err), &err);
    return l;
}

static const kiln_json *json_of(const kiln_load *l) {
    kiln_err err = {0};
    kiln_buf json;
    const kiln_json *doc = NULL;
    kiln_buf_init(&json, kiln_test_arena());
    kiln_load_json(&json, l);
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_buf_str(&json), "load", &doc, &err),
        &err);
    return doc;
}

static const char *text_of(const kiln_load *l) {
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_load_text(&text, l);
    return kiln_str_dupv(kiln_test_arena(), kiln_buf_str(&text));
}

static void counts_add_up(void **state) {
    (void)state;
    const kiln_subject s = kiln_test_subject("zoo:dqn");
    const kiln_load l = loaded(&s, 2);
    assert_int_equal(l.check.outcome, KILN_PASSED);
    assert_false(l.is_interrupted);
    assert_int_equal(l.side.n, 4);
    for (size_t i = 0; i < l.side.n; i++) {
        const kiln_load_side *r = &l.side.v[i];
        int64_t sum = 0;
        assert_int_equal(r->threads, threads[i / 2]);
        assert_int_equal(r->instances, instances[i % 2]);
        for (int k = 0; k < KILN_LOAD_SLICES; k++)
            sum += r->slice[k];
        assert_int_equal(sum, r->runs);
        /* Time ran out over at most one run of each instance. */
        assert_true((int64_t)r->ms.n >= r->runs);
        assert_true((int64_t)r->ms.n <= r->runs + r->instances);
        assert_true(fabs(r->per_s * r->seconds - (double)r->runs) < 1e-6);
        assert_true(r->low <= r->per_s && r->per_s <= r->high);
        assert_true(r->ms.min > 0 && r->ms.min <= r->ms.mean && !r->is_cut);
        assert_true(r->session_bytes > 0 && fabs(r->seconds - 0.1) < 1e-9);
    }
    const kiln_json *load = kiln_json_get(json_of(&l), "load");
    assert_int_equal(kiln_json_size(load), 4);
    const kiln_json *first = kiln_json_first(load);
    const kiln_json *rate = kiln_json_get(first, "throughput");
    assert_int_equal(kiln_json_size(kiln_json_get(rate, "slices")), KILN_LOAD_SLICES);
    assert_true(kiln_json_number(kiln_json_get(rate, "runs"), -1) ==
                (double)l.side.v[0].runs);
    assert_true(
        kiln_json_number(kiln_json_get(kiln_json_get(first, "latency_ms"), "samples"),
                         -1) == (double)l.side.v[0].ms.n);
    assert_non_null(strstr(text_of(&l), "instances threads     runs/s"));
}

static void gives_no_number_for_a_wrong_output(void **state) {
    (void)state;
    kiln_subject s = kiln_test_subject("zoo:dqn");
    ((float *)s.want[0].value.data)[3] += 1;
    const kiln_load l = loaded(&s, 1);
    assert_int_equal(l.check.outcome, KILN_FAILED);
    assert_int_equal(l.side.n, 0);
    assert_non_null(strstr(text_of(&l), "WRONG: output '"));
    assert_null(strstr(text_of(&l), "runs/s"));
    assert_int_equal(kiln_json_size(kiln_json_get(json_of(&l), "load")), 0);
}

/* Whoever watches says stop: what was measured until then counts. */
static void stop(void *user, double done, double total) {
    bool *is_asked = user;
    (void)done;
    (void)total;
    if (!*is_asked) /* the second ends the process */
        (void)raise(SIGINT);
    *is_asked = true;
}

static void ends_when_interrupted(void **state) {
    (void)state;
    const kiln_subject s = kiln_test_subject("zoo:dqn");
    bool is_asked = false;
    const kiln_load_options o = {.threads = threads,
                                 .n_threads = 1,
                                 .instances = instances,
                                 .n_instances = 2,
                                 .seconds = KILN_TEST_PATIENCE_S,
                                 .progress = stop,
                                 .user = &is_asked};
    kiln_load l;
    kiln_err err = {0};
    kiln_interrupt_catch();
    kiln_assert_status_ok(kiln_load_run(kiln_test_arena(), &s, &o, &l, &err), &err);
    assert_true(l.is_interrupted);
    assert_true(l.side.n <= 1);
    for (size_t i = 0; i < l.side.n; i++)
        assert_true(l.side.v[i].seconds < KILN_TEST_PATIENCE_S);
    assert_non_null(strstr(text_of(&l), "interrupted: shorter than asked for"));
}

int main(void) {
    kiln_test_add("counts_add_up", counts_add_up, NULL);
    kiln_test_add("gives_no_number_for_a_wrong_output",
                  gives_no_number_for_a_wrong_output, NULL);
    kiln_test_add("ends_when_interrupted", ends_when_interrupted, NULL);
    return kiln_test_run("load");
}
