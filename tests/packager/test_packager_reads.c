/* What a package reads beside another, whose parameters may lie in a file that several
 * share. */
#include "packager/packager.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"

#include <string.h>

/* Two constants of one size, of which nothing is packed: 972 bytes, in 1024. */
static const char text[] = "graph \"small\" { input %x : f32[1,3,9,9] "
                           "input %w : f32[1,3,9,9] input %c : f32[1,3,9,9] "
                           "%m = mul(%x, %w) %r = add(%m, %c) output %r }";
static const char longer_text[] = "graph \"small\" { input %x : f32[1,3,9,9] "
                                  "input %w : f32[1,3,9,9] input %c : f32[1,3,9,9] "
                                  "%m = mul(%x, %w) %r = add(%m, %c) "
                                  "%s = sigmoid(%r) %t = add(%s, %w) output %t }";
enum { ELEMS = 3 * 9 * 9, ROOM = 1024 };

static const char *dir;

static const char *in_dir(const char *name) {
    return kiln_path_join(kiln_test_arena(), dir, name);
}

/* A package by itself, whose constants are of these numbers. */
static const char *write_package(const char *name, const char *graph, float w,
                                 float c) {
    kiln_package p;
    kiln_err err = {0};
    const char *path = in_dir(kiln_format(kiln_test_arena(), "%s.kiln.tar.zst", name));
    kiln_test_package(kiln_test_arena(), graph, NULL, &p);
    const kiln_plan_header *h = (const void *)p.plan.p;
    assert_int_equal(h->param_bytes, 2 * ROOM);
    float *params = kiln_arena_alloc(kiln_test_arena(), 2 * ROOM);
    for (int i = 0; i < ELEMS; i++) {
        params[i] = w + (float)i;
        params[ROOM / sizeof *params + (size_t)i] = c + (float)i;
    }
    p.params = params;
    kiln_assert_status_ok(kiln_package_write(&p, path, NULL, &err), &err);
    return path;
}

static const char *unpack(const char *path, const char *name) {
    kiln_err err = {0};
    const char *folder = in_dir(name);
    kiln_assert_status_ok(
        kiln_package_unpack_for_now(kiln_test_arena(), path, folder, NULL, &err), &err);
    return folder;
}

/* a, b: one and the same first constant, others behind it; c has b's for its first. */
static void prepare(void) {
    kiln_err err = {0};
    const char *part[3];
    dir = kiln_test_dir();
    part[0] = write_package("a", text, 1000, 2000);
    part[1] = write_package("b", text, 1000, 3000);
    part[2] = write_package("c", text, 3000, 2000);
    kiln_assert_status_ok(kiln_package_write_variants(part, 3, KILN_PACKAGE_TIME,
                                                      in_dir("all.kiln.tar.zst"), NULL,
                                                      &err),
                          &err);
    (void)unpack(part[0], "a");
    (void)unpack(part[1], "b");
    (void)unpack(part[2], "c");
    (void)unpack(in_dir("all.kiln.tar.zst"), "all");
    (void)unpack(write_package("longer", longer_text, 1000, 2000), "longer");
    (void)unpack(write_package("twice", text, 1000, 1000), "twice");
}

typedef struct row {
    const char *name, *folder, *other;
    bool same_plan, same_params;
} row;

static row rows[] = {
    {"itself", "a", "a", true, true},
    {"other_constants", "a", "b", true, false},
    {"same_constants_in_another_order", "b", "c", true, false},
    {"variant_of_it", "a", "all/v0", true, true},
    {"variant_of_which_a_part_is_shared", "all/v1", "b", true, true},
    {"variant_of_which_all_is_shared", "all/v2", "c", true, true},
    {"variant_of_another", "all/v0", "b", true, false},
    {"variants_beside_one_another", "all/v0", "all/v1", true, false},
    {"another_plan_of_the_same_constants", "longer", "all/v0", false, true},
};

static void check(void **state) {
    const row *r = *state;
    kiln_package_reads got;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_package_compare_reads(in_dir(r->folder), in_dir(r->other), &got, &err),
        &err);
    assert_int_equal(got.same_plan, r->same_plan);
    assert_int_equal(got.same_params, r->same_params);
    assert_int_equal(got.param_bytes, 2 * ROOM);
    assert_int_equal(got.other_param_bytes, 2 * ROOM);
}

/* The three variants name two constants each, and the file has three. */
static void the_shared_file_is_larger(void **state) {
    (void)state;
    kiln_package_facts f;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_package_inspect_folder(kiln_test_arena(), in_dir("all/v1"), &f, &err),
        &err);
    assert_int_equal(f.memory.params, 3 * ROOM);
}

/* Equal constants lie in one place where packages are put together. */
static void what_lies_in_one_place_counts_once(void **state) {
    (void)state;
    const char *const part[] = {in_dir("twice.kiln.tar.zst"), in_dir("a.kiln.tar.zst")};
    const char *path = in_dir("once.kiln.tar.zst");
    kiln_package_reads got;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_package_write_variants(part, 2, KILN_PACKAGE_TIME, path, NULL, &err),
        &err);
    const char *variant = kiln_path_join(kiln_test_arena(), unpack(path, "once"), "v0");
    kiln_assert_status_ok(
        kiln_package_compare_reads(variant, in_dir("twice"), &got, &err), &err);
    assert_true(got.same_plan);
    assert_true(got.same_params);
    assert_int_equal(got.param_bytes, ROOM);
    assert_int_equal(got.other_param_bytes, 2 * ROOM);
}

static void a_damaged_folder_is_refused(void **state) {
    (void)state;
    const char *folder = unpack(in_dir("a.kiln.tar.zst"), "damaged");
    const char *params =
        kiln_path_join(kiln_test_arena(), folder, "params.safetensors");
    kiln_package_reads got;
    kiln_str file;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), params, 0, &file, &err),
                          &err);
    const char *copy = kiln_arena_dup(kiln_test_arena(), file.p, file.n);
    kiln_assert_status_ok(kiln_file_write(params, copy, file.n - 64, &err), &err);
    kiln_assert_fails(kiln_package_compare_reads(folder, in_dir("a"), &got, &err),
                      KILN_ERR_PARSE, &err, "params.safetensors: its tensors have ");
    assert_non_null(strstr(err.text, "comparing the packages' folders"));
}

int main(void) {
    prepare();
    kiln_test_add_rows(check, rows);
    kiln_test_add("the_shared_file_is_larger", the_shared_file_is_larger, NULL);
    kiln_test_add("what_lies_in_one_place_counts_once",
                  what_lies_in_one_place_counts_once, NULL);
    kiln_test_add("a_damaged_folder_is_refused", a_damaged_folder_is_refused, NULL);
    return kiln_test_run("packager: reads");
}
