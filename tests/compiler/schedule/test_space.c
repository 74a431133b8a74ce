/* Spaces and points: which sizes of parts there are, that indexes and points are the same thing, what
 * a guess gets where its value is not there. */
#include "compiler/schedule/template.h"
#include "tests/support/kiln_test.h"

#include <signal.h>
#include <string.h>

static kiln_space fresh(void) {
    kiln_space s;
    kiln_space_init(&s, kiln_test_arena());
    return s;
}

/* ---- points ---------------------------------------------------------------------- */

static const char *const order_words[] = {"outer", "inner"};

static kiln_space example(void) {
    /* Pairs whose product divides 28. */
    static const int64_t tile[][2] = {
        {1, 1},  {1, 2}, {1, 4}, {1, 7}, {1, 14}, {1, 28}, {2, 1},  {2, 2},  {2, 7},
        {2, 14}, {4, 1}, {4, 7}, {7, 1}, {7, 2},  {7, 4},  {14, 1}, {14, 2}, {28, 1}};
    kiln_space s = fresh();
    kiln_space_add_ints(&s, "oc_block", "lanes", (const int64_t[]){8, 16, 32}, 3);
    kiln_space_add_words(&s, "order", "loops", order_words, 2);
    kiln_space_add_tuples(&s, "ow_tile", "pixels", tile[0],
                          sizeof tile / sizeof tile[0], 2);
    return s;
}

static void first_knob_is_fastest(void **state) {
    (void)state;
    const kiln_space s = example();
    assert_int_equal(s.size, 3 * 2 * s.knob[2].n);
    const kiln_config c = kiln_config_at(&s, 1 + 3 * 1 + 6 * 2);
    assert_int_equal(kiln_config_int(&s, &c, 0, 0), 16);
    assert_string_equal(kiln_config_word(&s, &c, 1), "inner");
    assert_int_equal(kiln_config_int(&s, &c, 2, 0), 1);
    assert_int_equal(kiln_config_int(&s, &c, 2, 1), 4);
}

static void index_and_point_agree(void **state) {
    (void)state;
    const kiln_space s = example();
    for (uint64_t i = 0; i < s.size; i++) {
        const kiln_config c = kiln_config_at(&s, i);
        assert_int_equal(kiln_config_index(&s, &c), i);
    }
}

typedef struct sizes_row {
    const char *name;
    int64_t extent;
    bool is_parts;
    int n;
    int64_t want[12];
} sizes_row;

static sizes_row sizes[] = {
    {"up_to_ends_past_the_extent", 5, false, 4, {1, 2, 4, 8}},
    {"up_to_ends_at_the_extent", 4, false, 3, {1, 2, 4}},
    {"up_to_has_one_at_least", 0, false, 1, {1}},
    {"up_to_has_no_more_than_there_are", 100, false, 5, {1, 2, 4, 8, 16}},
    {"parts_of_one", 1, true, 1, {1}},
    {"parts_of_seven", 7, true, 5, {1, 2, 3, 4, 7}},
    {"parts_of_28", 28, true, 10, {1, 2, 3, 4, 5, 6, 7, 10, 14, 28}},
};

static void check_sizes(void **state) {
    static const int64_t powers[] = {1, 2, 4, 8, 16};
    const sizes_row *r = *state;
    kiln_space s = fresh();
    const int k = r->is_parts
                      ? kiln_space_add_parts(&s, "k", "doc", r->extent)
                      : kiln_space_add_up_to(&s, "k", "doc", powers, 5, r->extent);
    assert_int_equal(s.knob[k].n, r->n);
    for (int i = 0; i < r->n; i++)
        assert_int_equal(s.knob[k].value[i], r->want[i]);
}

/* Whatever the extent: from 1 to all of it, in ascending order. */
static void many_parts_are_halved(void **state) {
    (void)state;
    static const int64_t extent[] = {1000, 65536, INT64_MAX};
    for (size_t e = 0; e < sizeof extent / sizeof extent[0]; e++) {
        kiln_space s = fresh();
        const int k = kiln_space_add_parts(&s, "k", "doc", extent[e]);
        assert_int_equal(s.knob[k].value[0], 1);
        assert_int_equal(s.knob[k].value[s.knob[k].n - 1], extent[e]);
        for (int i = 1; i < s.knob[k].n; i++)
            assert_true(s.knob[k].value[i] > s.knob[k].value[i - 1]);
    }
}

/* Words and splits add up in one space, and an empty one has exactly one point. */
static void empty_space_has_one_point(void **state) {
    (void)state;
    const kiln_space s = fresh();
    const kiln_config c = kiln_config_at(&s, 0);
    assert_int_equal(s.size, 1);
    assert_int_equal(c.n, 0);
    assert_int_equal(kiln_config_index(&s, &c), 0);
}

static void random_points_cover_the_space(void **state) {
    (void)state;
    const kiln_space s = example();
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    bool *seen = kiln_array(kiln_test_arena(), bool, s.size);
    uint64_t n_seen = 0;
    /* All of n points after n (ln n + 20) draws, but for one run in e^20. */
    for (int i = 0; i < 40 * (int)s.size; i++) {
        const kiln_config c = kiln_config_random(&s, &rng);
        const uint64_t at = kiln_config_index(&s, &c);
        assert_true(at < s.size);
        n_seen += !seen[at];
        seen[at] = true;
    }
    assert_int_equal(n_seen, s.size);
}

typedef struct set_row {
    const char *name;
    int64_t want[2], got[2];
} set_row;

static set_row sets[] = {
    {"exact", {2, 7}, {2, 7}},
    {"nearest_below", {3, 9}, {2, 7}},
    {"largest_product_below", {28, 5}, {7, 4}},
    {"nothing_below_gives_the_smallest", {0, 0}, {1, 1}},
};

static void check_set(void **state) {
    const set_row *r = *state;
    const kiln_space s = example();
    kiln_config c = kiln_config_at(&s, 0);
    kiln_config_set(&s, &c, 2, r->want);
    assert_int_equal(kiln_config_int(&s, &c, 2, 0), r->got[0]);
    assert_int_equal(kiln_config_int(&s, &c, 2, 1), r->got[1]);
    assert_int_equal(c.option[0], 0);
}

static void set_word_finds_it(void **state) {
    (void)state;
    const kiln_space s = example();
    kiln_config c = kiln_config_at(&s, 0);
    kiln_config_set_word(&s, &c, 1, "inner");
    assert_string_equal(kiln_config_word(&s, &c, 1), "inner");
}

static void unsorted_values_take_the_nearest(void **state) {
    (void)state;
    kiln_space s = fresh();
    kiln_space_add_ints(&s, "n", "doc", (const int64_t[]){16, 4, 8}, 3);
    kiln_config c = kiln_config_at(&s, 0);
    kiln_config_set(&s, &c, 0, (const int64_t[]){9});
    assert_int_equal(kiln_config_int(&s, &c, 0, 0), 8);
    kiln_config_set(&s, &c, 0, (const int64_t[]){1});
    assert_int_equal(kiln_config_int(&s, &c, 0, 0), 4);
}

/* ---- broken invariants ----------------------------------------------------------- */

static void set_unknown_word(void *arg) {
    (void)arg;
    const kiln_space s = example();
    kiln_config c = kiln_config_at(&s, 0);
    kiln_config_set_word(&s, &c, 1, "sideways");
}

static void too_large_a_space(void *arg) {
    (void)arg;
    kiln_space s = fresh();
    const int64_t v[64] = {0};
    for (int i = 0; i < 11; i++)
        kiln_space_add_ints(&s, "n", "doc", v, 64); /* 2^66 points */
}

static void too_many_knobs(void *arg) {
    (void)arg;
    kiln_space s = fresh();
    for (int i = 0; i <= KILN_MAX_KNOBS; i++)
        kiln_space_add_ints(&s, "n", "doc", (const int64_t[]){1}, 1);
}

typedef struct death_row {
    const char *name;
    void (*fn)(void *arg);
    const char *text;
} death_row;

static death_row deaths[] = {
    {"asserts_words", set_unknown_word, "knob 'order' has no word 'sideways'"},
    {"asserts_size", too_large_a_space, "the space is too large with knob 'n'"},
    {"asserts_knobs", too_many_knobs, "knob 'n' is one too many"},
};

static void check_death(void **state) {
    const death_row *r = *state;
    kiln_test_death d;
    kiln_test_in_child(r->fn, NULL, &d);
    assert_int_equal(d.signal, SIGABRT);
    assert_non_null(strstr(d.stderr_text, r->text));
}

/* ---- steps ----------------------------------------------------------------------- */

/* One knob changes, never one that has no other option; half of the steps go to the
 * next option. */
static void neighbours_differ_in_one_knob(void **state) {
    (void)state;
    enum { STEPS = 4000 };
    kiln_space s = fresh();
    const int64_t v[] = {1, 2, 3, 4, 5, 6, 7, 8};
    kiln_rng rng;
    int n_changed[3] = {0}, n_next = 0;
    kiln_space_add_ints(&s, "wide", "doc", v, 8);
    kiln_space_add_ints(&s, "single", "doc", v, 1);
    kiln_space_add_ints(&s, "pair", "doc", v, 2);
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_config at = kiln_config_random(&s, &rng);
    for (int i = 0; i < STEPS; i++) {
        const kiln_config to = kiln_config_neighbour(&s, &at, &rng);
        int n = 0;
        for (int k = 0; k < s.n; k++) {
            assert_in_range(to.option[k], 0, s.knob[k].n - 1);
            n += to.option[k] != at.option[k];
            n_changed[k] += to.option[k] != at.option[k];
        }
        assert_int_equal(n, 1);
        const int by = to.option[0] - at.option[0];
        n_next += by == 1 || by == -1;
        at = to;
    }
    assert_int_equal(n_changed[1], 0);
    assert_true(n_changed[0] > STEPS * 2 / 5 && n_changed[2] > STEPS * 2 / 5);
    /* half by intent, two of seven of the others by chance */
    assert_true(n_next > n_changed[0] / 2 && n_next < n_changed[0] * 4 / 5);
}

static void single_points_have_no_neighbours(void **state) {
    (void)state;
    kiln_space s = fresh();
    const int64_t v = 3;
    kiln_rng rng;
    kiln_rng_init(&rng, 1);
    kiln_space_add_ints(&s, "single", "doc", &v, 1);
    const kiln_config c = kiln_config_at(&s, 0);
    const kiln_config to = kiln_config_neighbour(&s, &c, &rng);
    assert_int_equal(kiln_config_index(&s, &to), 0);
}

static void children_take_from_both(void **state) {
    (void)state;
    enum { CHILDREN = 400 };
    kiln_space s = fresh();
    const int64_t v[] = {1, 2, 3};
    kiln_rng rng;
    int n_of_y = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int k = 0; k < 4; k++)
        kiln_space_add_ints(&s, "x", "doc", v, 3);
    const kiln_config x = {.n = 4}, y = {.n = 4, .option = {1, 2, 1, 2}};
    for (int i = 0; i < CHILDREN; i++) {
        const kiln_config c = kiln_config_cross(&s, &x, &y, &rng);
        for (int k = 0; k < 4; k++) {
            assert_true(c.option[k] == x.option[k] || c.option[k] == y.option[k]);
            n_of_y += c.option[k] == y.option[k];
        }
    }
    assert_true(n_of_y > CHILDREN * 4 * 2 / 5 && n_of_y < CHILDREN * 4 * 3 / 5);
}

int main(void) {
    kiln_test_add_rows(check_sizes, sizes);
    kiln_test_add("many_parts_are_halved", many_parts_are_halved, NULL);
    kiln_test_add("first_knob_is_fastest", first_knob_is_fastest, NULL);
    kiln_test_add("index_and_point_agree", index_and_point_agree, NULL);
    kiln_test_add("empty_space_has_one_point", empty_space_has_one_point, NULL);
    kiln_test_add("random_points_cover_the_space", random_points_cover_the_space, NULL);
    kiln_test_add("neighbours_differ_in_one_knob", neighbours_differ_in_one_knob, NULL);
    kiln_test_add("single_points_have_no_neighbours", single_points_have_no_neighbours,
                  NULL);
    kiln_test_add("children_take_from_both", children_take_from_both, NULL);
    kiln_test_add_rows(check_set, sets);
    kiln_test_add("set_word_finds_it", set_word_finds_it, NULL);
    kiln_test_add("unsorted_values_take_the_nearest", unsorted_values_take_the_nearest,
                  NULL);
    kiln_test_add_rows(check_death, deaths);
    return kiln_test_run("space");
}
