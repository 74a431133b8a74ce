/* Golden cases that are not one call of the very file: states that go from case to case,
 * and cases of the same network in a format that keeps channels last. */
#include "compiler/frontend/frontend.h"
#include "pipeline/golden_twin.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static const char *dir; /* of this test: the model, golden.json and its arrays */

static const char *put(const char *name, const char *text) {
    kiln_err err = {0};
    const char *const path = kiln_path_join(kiln_test_arena(), dir, name);
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), &err), &err);
    return path;
}

static void put_npy(const char *name, int rank, const int64_t *dim, const float *v) {
    kiln_err err = {0};
    const kiln_tensor t = {kiln_type_make(KILN_F32, rank, dim), (void *)(uintptr_t)v};
    const char *const path = kiln_path_join(kiln_test_arena(), dir, name);
    kiln_assert_status_ok(kiln_tensor_write_npy(path, &t, &err), &err);
}

static kiln_checks verified(const char *model) {
    kiln_checks checks = {0};
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_verify_golden(kiln_test_arena(), model, dir, NULL, NULL,
                                             NULL, &checks, &err),
                          &err);
    return checks;
}

/* y = x + s, which the next case begins with. */
static void states_go_from_case_to_case(void **state) {
    (void)state;
    dir = kiln_test_dir();
    static const int64_t two[] = {2};
    const char *const model = put("sum.kgraph", "graph \"sum\" {\n"
                                                "  input %x : f32[2]\n"
                                                "  input %s : f32[2]\n"
                                                "  %y = add(%x, %s)\n"
                                                "  output %y \"y\"\n"
                                                "  output %y \"s.next\"\n"
                                                "}\n");
    put_npy("y0.npy", 1, two, (const float[]){1, 1});
    put_npy("y1.npy", 1, two, (const float[]){2, 2});
    put_npy("y2.npy", 1, two, (const float[]){9, 9});
#define CASE(n)                                                                        \
    "{\"inputs\": [{\"name\": \"x\", \"gen\": {\"kind\": \"const\", \"value\": 1}, "   \
    "\"dtype\": \"float32\", \"shape\": [2]}], \"outputs\": [{\"name\": \"y\", "       \
    "\"dtype\": \"float32\", \"shape\": [2], \"npy\": \"y" n ".npy\"}]}"
    put("golden.json", "{\"cases\": [" CASE("0") "," CASE("1") "," CASE("2") "]}");
#undef CASE
    const kiln_checks c = verified(model);
    assert_int_equal(c.n_passed, 2);
    assert_int_equal(c.list.v[2].outcome, KILN_FAILED); /* it is 3 */
}

/* Channels by 1 and 10; the twin has other names, and channels last. */
static void twins_are_turned(void **state) {
    (void)state;
    dir = kiln_test_dir();
    static const int64_t last[] = {1, 1, 3, 2};
    const char *const model = put("scale.kgraph", "graph \"scale\" {\n"
                                                  "  input %x : f32[1,2,1,3]\n"
                                                  "  const %k : f32[2,1,1] = {1, 10}\n"
                                                  "  %y = mul(%x, %k)\n"
                                                  "  output %y \"y\"\n"
                                                  "}\n");
    put_npy("x.npy", 4, last, (const float[]){1, 2, 3, 4, 5, 6});
    put_npy("y.npy", 4, last, (const float[]){1, 20, 3, 40, 5, 60});
    put("golden.json",
        "{\"cases\": [{\"inputs\": [{\"name\": \"image\", \"npy\": \"x.npy\", "
        "\"dtype\": \"float32\", \"shape\": [1, 1, 3, 2]}], \"outputs\": [{\"name\": "
        "\"result\", \"npy\": \"y.npy\", \"dtype\": \"float32\", \"shape\": [1, 1, 3, "
        "2]}]}]}");
    const kiln_checks c = verified(model);
    if (c.n_passed != 1)
        fail_msg("%s", c.list.v[0].reason);
}

static void shapes_that_agree_are_not_turned(void **state) {
    (void)state;
    static const int64_t first[] = {1, 3, -1, 8}, same[] = {1, 3, 3, 3};
    const kiln_type last = kiln_type_make(KILN_F32, 4, (const int64_t[]){1, 5, 8, 3});
    const kiln_type other = kiln_type_make(KILN_F32, 4, (const int64_t[]){1, 5, 9, 3});
    const kiln_type cube = kiln_type_make(KILN_F32, 4, same);
    assert_true(kiln_golden_is_turned(&last, 4, first));
    assert_false(kiln_golden_is_turned(&other, 4, first));
    assert_false(kiln_golden_is_turned(&cube, 4, same));
    assert_false(kiln_golden_is_turned(&last, 3, first));
}

int main(void) {
    kiln_test_add("states_go_from_case_to_case", states_go_from_case_to_case, NULL);
    kiln_test_add("twins_are_turned", twins_are_turned, NULL);
    kiln_test_add("shapes_that_agree_are_not_turned", shapes_that_agree_are_not_turned,
                  NULL);
    return kiln_test_run("golden_cases");
}
