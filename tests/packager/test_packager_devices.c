/* Packages for several devices: a library for each, and what disagrees with that. */
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"
#include "tests/support/package/package_craft.h"

#include <string.h>

static const char *archive;

static void make_archive(void) {
    static const char *const rule[] = {"conv=host2", "max_pool=npu"};
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_placement o;
    kiln_package p;
    kiln_assert_status_ok(kiln_place_by_rules(a, rule, 2, &o, &err), &err);
    kiln_test_package_on(a, kiln_test_network_text, NULL, &o, &p);
    archive = kiln_path_join(a, kiln_test_dir(), "placed.kiln.tar.zst");
    kiln_assert_status_ok(kiln_package_write(&p, archive, NULL, &err), &err);
}

static void holds_a_library_for_each(void **state) {
    static const char *const device[] = {"host", "host2", "npu"};
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_package_facts f;
    kiln_buf text;
    int n_libraries = 0;
    (void)state;
    const char *folder = kiln_path_join(a, kiln_test_dir(), "placed");
    kiln_assert_status_ok(kiln_package_unpack(a, archive, folder, &f, &err), &err);
    assert_int_equal(f.n_devices, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(f.device[i], device[i]);
    for (size_t i = 0; i < f.n_entries; i++)
        n_libraries += kiln_str_ends(kiln_str_from(f.entry[i].name), ".so");
    assert_int_equal(n_libraries, 3);
    assert_true(kiln_file_exists(kiln_path_join(a, folder, "lib2.so")));
    kiln_assert_status_ok(kiln_package_verify_folder(folder, &err), &err);
    kiln_buf_init(&text, a);
    kiln_package_print(&text, &f);
    assert_non_null(strstr(text.p, "devices          host, host2, npu\n"));
}

static void names_of_modules_have_one_form(void **state) {
    static const char *const none[] = {"lib.so",  "lib0.so", "lib10.so", "lib1.so.",
                                       "libx.so", "lib1.s0", "mib1.so",  ""};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_int_equal(kiln_package_module_number(none[i]), 0);
    for (size_t i = 1; i <= KILN_PACKAGE_MAX_MODULES; i++)
        assert_int_equal(kiln_package_module_number(kiln_package_module_name(
                             kiln_test_arena(), i, i % 2 == 0)),
                         i);
    assert_string_equal(kiln_package_module_name(kiln_test_arena(), 0, false),
                        "lib.so");
}

/* ---- what disagrees --------------------------------------------------------------- */

typedef struct row {
    const char *name;
    void (*edit)(craft *c);
    const char *want;
} row;

static void unchanged(craft *c) { (void)c; }
static void another_device(craft *c) { craft_replace(c, "\"npu\"", "\"gpu\"", false); }
static void no_devices(craft *c) { craft_replace(c, "\"devices\"", "\"d\"", false); }
static void devices_no_list(craft *c) {
    craft_replace(c, "\"devices\": ", "\"devices\": 3, \"d\": ", false);
}
static void device_no_text(craft *c) { craft_replace(c, "\"npu\"", "7", false); }
static void library_left_out(craft *c) {
    craft_replace(c, "\"lib1.so\"", "\"lib3.so\"", false);
}
static void another_library(craft *c) {
    const kiln_str lib = c->entry[craft_find(c, "lib.so")].data;
    craft_set_data(c, craft_find(c, "lib1.so"), lib.p, lib.n);
}
static void no_library(craft *c) {
    craft_set_data(c, craft_find(c, "lib2.so"), "#!/bin/sh and some more", 23);
}

static row rows[] = {
    {"unchanged", unchanged, NULL},
    {"another_device", another_device,
     "manifest.json and plan.bin do not agree on the devices"},
    {"devices_left_out", no_devices, "with a library for each of 1 devices"},
    {"devices_no_list", devices_no_list, "'devices' must be a list"},
    {"device_no_text", device_no_text, "'devices' must be a list of strings"},
    {"library_left_out", library_left_out, "'entries' must be"},
    {"another_devices_library", another_library, "lib1.so"},
    {"no_library", no_library, "lib2.so: this is no ELF64 object or shared library"},
};

static void refuses(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    craft *c = kiln_new(a, craft);
    craft_open(c, a, archive);
    r->edit(c);
    const char *path = kiln_path_join(a, kiln_test_dir(), "edited.kiln.tar.zst");
    const char *folder = kiln_path_join(a, kiln_test_dir(), r->name);
    craft_write(path, craft_compress(a, craft_tar(c)));
    const kiln_status st = kiln_package_unpack(a, path, folder, NULL, &err);
    if (r->want == NULL)
        kiln_assert_status_ok(st, &err);
    else
        kiln_assert_fails(st, KILN_ERR_PARSE, &err, r->want);
}

int main(void) {
    make_archive();
    kiln_test_add("holds_a_library_for_each", holds_a_library_for_each, NULL);
    kiln_test_add("names_of_modules_have_one_form", names_of_modules_have_one_form,
                  NULL);
    kiln_test_add_rows(refuses, rows);
    return kiln_test_run("packages for several devices");
}
