/* Seeded damage to a good archive: refused every time, and nothing left anywhere.
 *
 * Damage without a new seal must always be refused. With a seal that fits, as only
 * somebody who means harm would make, it must be refused wherever an entry's bytes are
 * not the manifest's: what is unpacked then differs in the manifest's own words at
 * most.
 */
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"
#include "tests/support/package/package_craft.h"

#include <string.h>

static const char *archive;
static kiln_str good, tar;  /* bytes of the archive; decompressed */
static size_t manifest_end; /* in the tar */

typedef struct row {
    const char *name;
    int n;
    kiln_str (*damage)(kiln_arena *a, kiln_rng *rng);
    bool may_pass; /* then with the same contents */
} row;

static size_t draw(kiln_rng *rng, size_t n) {
    return (size_t)kiln_rng_range(rng, 0, (int64_t)n - 1);
}

static kiln_str flipped(kiln_arena *a, kiln_rng *rng, kiln_str s, size_t from) {
    char *copy = kiln_arena_dup(a, s.p, s.n);
    const size_t at = from + draw(rng, s.n - from);
    copy[at] = (char)(copy[at] ^ (1 << draw(rng, 8)));
    return (kiln_str){copy, s.n};
}

static kiln_str without_seal(kiln_str s) {
    return (kiln_str){s.p, s.n - KILN_SEAL_BYTES};
}

/* ---- without a new seal ---------------------------------------------------------- */

static kiln_str flip(kiln_arena *a, kiln_rng *rng) { return flipped(a, rng, good, 0); }

static kiln_str flip_seal(kiln_arena *a, kiln_rng *rng) {
    return flipped(a, rng, good, good.n - KILN_SEAL_BYTES);
}

static kiln_str truncate_file(kiln_arena *a, kiln_rng *rng) {
    (void)a;
    return (kiln_str){good.p, draw(rng, good.n)};
}

static kiln_str zero_block(kiln_arena *a, kiln_rng *rng) {
    char *copy = kiln_arena_dup(a, good.p, good.n);
    memset(copy + draw(rng, good.n - 16), 0, 16);
    return (kiln_str){copy, good.n};
}

/* Compressed again, the seal left as it was. */
static kiln_str with_old_seal(kiln_arena *a, kiln_str bytes) {
    const kiln_str fresh = without_seal(craft_compress(a, bytes));
    char *all = kiln_arena_alloc(a, fresh.n + KILN_SEAL_BYTES);
    memcpy(all, fresh.p, fresh.n);
    memcpy(all + fresh.n, good.p + good.n - KILN_SEAL_BYTES, KILN_SEAL_BYTES);
    return (kiln_str){all, fresh.n + KILN_SEAL_BYTES};
}

static kiln_str flip_tar(kiln_arena *a, kiln_rng *rng) {
    return with_old_seal(a, flipped(a, rng, tar, 0));
}

/* ---- with one -------------------------------------------------------------------- */

static kiln_str flip_tar_sealed(kiln_arena *a, kiln_rng *rng) {
    return craft_compress(a, flipped(a, rng, tar, manifest_end));
}

static kiln_str flip_header_sealed(kiln_arena *a, kiln_rng *rng) {
    const kiln_str head = flipped(a, rng, (kiln_str){tar.p, KILN_TAR_BLOCK}, 0);
    char *all = kiln_arena_dup(a, tar.p, tar.n);
    memcpy(all, head.p, head.n);
    return craft_compress(a, (kiln_str){all, tar.n});
}

static kiln_str truncate_tar_sealed(kiln_arena *a, kiln_rng *rng) {
    return craft_compress(a, (kiln_str){tar.p, draw(rng, tar.n)});
}

static kiln_str swap_entries_sealed(kiln_arena *a, kiln_rng *rng) {
    craft *c = kiln_new(a, craft);
    craft_open(c, a, archive);
    const size_t x = draw(rng, c->n);
    craft_swap(c, x, (x + 1 + draw(rng, c->n - 1)) % c->n);
    return craft_compress(a, craft_tar(c));
}

static kiln_str drop_bytes_sealed(kiln_arena *a, kiln_rng *rng) {
    char *copy = kiln_arena_dup(a, tar.p, tar.n);
    const size_t n = 1 + draw(rng, 600),
                 at = manifest_end + draw(rng, tar.n - manifest_end - n);
    memmove(copy + at, copy + at + n, tar.n - at - n);
    return craft_compress(a, (kiln_str){copy, tar.n - n});
}

static kiln_str flip_frame_sealed(kiln_arena *a, kiln_rng *rng) {
    return craft_seal(a, flipped(a, rng, without_seal(good), 0));
}

static kiln_str flip_manifest_sealed(kiln_arena *a, kiln_rng *rng) {
    const kiln_str head =
        flipped(a, rng, (kiln_str){tar.p, manifest_end}, KILN_TAR_BLOCK);
    char *all = kiln_arena_dup(a, tar.p, tar.n);
    memcpy(all, head.p, head.n);
    return craft_compress(a, (kiln_str){all, tar.n});
}

static row rows[] = {
    {"bits_of_the_file", 60, flip, false},
    {"bits_of_the_seal", 20, flip_seal, false},
    {"file_cut", 30, truncate_file, false},
    {"zeros_in_the_file", 20, zero_block, false},
    {"bits_of_the_tar", 40, flip_tar, false},
    {"bits_of_the_tar_sealed", 60, flip_tar_sealed, false},
    {"bits_of_the_first_header_sealed", 20, flip_header_sealed, false},
    {"tar_cut_sealed", 30, truncate_tar_sealed, false},
    {"entries_swapped_sealed", 20, swap_entries_sealed, false},
    {"bytes_of_the_tar_left_out_sealed", 20, drop_bytes_sealed, false},
    {"bits_of_the_frame_sealed", 60, flip_frame_sealed, true},
    {"bits_of_the_manifest_sealed", 60, flip_manifest_sealed, true},
};

/* ---- checking -------------------------------------------------------------------- */

static kiln_str read(kiln_arena *a, const char *dir, const char *name) {
    kiln_err err = {0};
    kiln_str file;
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_path_join(a, dir, name), 0, &file, &err), &err);
    return file;
}

/* Everything but the manifest is what the good archive holds. */
static void check_same_contents(kiln_arena *a, const char *folder) {
    craft *c = kiln_new(a, craft);
    craft_open(c, a, archive);
    for (size_t i = 1; i < c->n; i++)
        if (!kiln_str_eq(read(a, folder, c->entry[i].header.name), c->entry[i].data))
            fail_msg("'%s' was changed and not refused", c->entry[i].header.name);
}

static bool is_refused(kiln_arena *a, const row *r, const char *dir, kiln_str bytes) {
    kiln_err err = {0};
    char **names = NULL;
    size_t n = 0;
    const char *path = kiln_path_join(a, dir, "bad"),
               *out = kiln_path_join(a, dir, "out");
    craft_write(path, bytes);
    const bool refused = kiln_package_unpack(a, path, out, NULL, &err) != KILN_OK;
    if (refused)
        assert_true(err.len > 0);
    else if (!r->may_pass)
        fail_msg("%s: was not refused", r->name);
    else
        check_same_contents(a, out);
    kiln_assert_status_ok(kiln_remove_tree(out, &err), &err);
    kiln_assert_status_ok(kiln_dir_list(a, dir, &names, &n, &err), &err);
    assert_int_equal(n, 1);
    return refused;
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    int n_refused = 0;
    const char *dir = kiln_path_join(kiln_test_arena(), kiln_test_dir(), r->name);
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    for (int i = 0; i < r->n; i++) {
        kiln_arena a = {0};
        kiln_rng rng;
        kiln_rng_init(&rng, kiln_test_seed() + (uint64_t)i);
        const kiln_str bytes = r->damage(&a, &rng);
        if (!kiln_str_eq(bytes, good))
            n_refused += is_refused(&a, r, dir, bytes);
        kiln_arena_fini(&a);
    }
    print_message("%s: %d of %d refused\n", r->name, n_refused, r->n);
    /* Damage that is mostly none would say little. */
    assert_true(2 * n_refused >= r->n);
}

static void make_archive(void) {
    kiln_err err = {0};
    kiln_arena *a = kiln_test_arena();
    archive = kiln_path_join(a, kiln_test_dir(), "good.tar.zst");
    kiln_test_package_file(kiln_test_network_text, NULL, archive);
    kiln_assert_status_ok(kiln_file_map(a, archive, 0, &good, &err), &err);
    tar = craft_decompress(a, good);
    craft *c = kiln_new(a, craft);
    craft_open(c, a, archive);
    manifest_end = KILN_TAR_BLOCK + c->entry[0].data.n;
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    make_archive();
    return kiln_test_run("package mutations");
}
