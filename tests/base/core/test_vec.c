/* Growing arrays and the map from strings, the latter against a list searched from the
 * front. */
#include "base/numbers.h"
#include "tests/support/kiln_test.h"

#include <stdlib.h>

static void vec_keeps_all_elements(void **state) {
    (void)state;
    kiln_arena a = {0};
    KILN_VEC(int64_t) v = {0};
    for (int64_t i = 0; i < 10000; i++) {
        kiln_vec_push(&a, &v, i * i);
        assert_true(v.n <= v.cap);
    }
    assert_int_equal(v.n, 10000);
    for (int64_t i = 0; i < 10000; i++)
        assert_true(v.v[i] == i * i);
    kiln_arena_fini(&a);
}

static void vec_holds_structs(void **state) {
    (void)state;
    typedef struct pair {
        char c;
        double x;
    } pair;
    kiln_arena a = {0};
    KILN_VEC(pair) v = {0};
    for (int i = 0; i < 100; i++)
        kiln_vec_push(&a, &v, ((pair){(char)i, 0.5 * i}));
    assert_int_equal(v.v[99].c, 99);
    const double want = 49.5;
    kiln_assert_close_f64(&v.v[99].x, &want, 1, 0, 0);
    kiln_arena_fini(&a);
}

static void map_of_nothing_has_nothing(void **state) {
    (void)state;
    const kiln_map m = {0};
    assert_null(kiln_map_get(&m, KILN_STR_LIT("x")));
    assert_false(kiln_map_has(&m, (kiln_str){NULL, 0}));
}

static void map_sets_and_replaces(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_map m = {0};
    int x = 1, y = 2;
    char key[] = "key";
    assert_true(kiln_map_set(&a, &m, kiln_str_from(key), &x));
    key[0] = 'K'; /* the map has a copy */
    assert_ptr_equal(kiln_map_get(&m, KILN_STR_LIT("key")), &x);
    assert_false(kiln_map_has(&m, KILN_STR_LIT("Key")));
    assert_false(kiln_map_set(&a, &m, KILN_STR_LIT("key"), &y));
    assert_ptr_equal(kiln_map_get(&m, KILN_STR_LIT("key")), &y);
    assert_int_equal(m.entries.n, 1);
    assert_string_equal(m.entries.v[0].key.p, "key"); /* terminated */

    assert_true(kiln_map_set(&a, &m, (kiln_str){NULL, 0}, NULL));
    assert_true(kiln_map_has(&m, KILN_STR_LIT(""))); /* the empty key is a key */
    assert_null(kiln_map_get(&m, KILN_STR_LIT("")));
    assert_true(kiln_map_set(&a, &m, (kiln_str){"a\0b", 3}, &x));
    assert_false(kiln_map_has(&m, (kiln_str){"a\0c", 3}));
    kiln_arena_fini(&a);
}

static void map_agrees_with_a_plain_list(void **state) {
    (void)state;
    enum { N_OPS = 4000, N_KEYS = 600 };
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_arena a = {0};
    kiln_map m = {0};
    int values[N_OPS];
    int *list[N_KEYS] = {0};
    size_t order[N_KEYS], n_known = 0; /* keys as they came */
    for (size_t i = 0; i < N_OPS; i++) {
        const size_t k = (size_t)kiln_rng_range(&rng, 0, N_KEYS - 1);
        const kiln_str key = kiln_str_from(kiln_format(&a, "node_%zu", k));
        assert_ptr_equal(kiln_map_get(&m, key), list[k]);
        const bool is_new = kiln_map_set(&a, &m, key, &values[i]);
        assert_int_equal(is_new, list[k] == NULL);
        if (is_new)
            order[n_known++] = k;
        list[k] = &values[i];
    }
    assert_int_equal(m.entries.n, n_known);
    for (size_t i = 0; i < n_known; i++) {
        assert_true(
            kiln_str_is(m.entries.v[i].key, kiln_format(&a, "node_%zu", order[i])));
        assert_ptr_equal(m.entries.v[i].value, list[order[i]]);
    }
    kiln_arena_fini(&a);
}

static void numbers_are_above_0(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_numbers m = {.map = {.slot = NULL}};
    assert_int_equal(kiln_numbers_get(&m, KILN_STR_LIT("one")), 0);
    assert_true(kiln_numbers_set(&a, &m, KILN_STR_LIT("one"), 1));
    assert_true(kiln_numbers_set(&a, &m, KILN_STR_LIT("most"), SIZE_MAX));
    assert_false(kiln_numbers_set(&a, &m, KILN_STR_LIT("one"), 7));
    assert_int_equal(kiln_numbers_get(&m, KILN_STR_LIT("one")), 7);
    assert_true(kiln_numbers_get(&m, KILN_STR_LIT("most")) == SIZE_MAX);
    assert_int_equal(kiln_numbers_get(&m, KILN_STR_LIT("none")), 0);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("vec_keeps_all_elements", vec_keeps_all_elements, NULL);
    kiln_test_add("vec_holds_structs", vec_holds_structs, NULL);
    kiln_test_add("map_of_nothing_has_nothing", map_of_nothing_has_nothing, NULL);
    kiln_test_add("map_sets_and_replaces", map_sets_and_replaces, NULL);
    kiln_test_add("map_agrees_with_a_plain_list", map_agrees_with_a_plain_list, NULL);
    kiln_test_add("numbers_are_above_0", numbers_are_above_0, NULL);
    return kiln_test_run("vec");
}
