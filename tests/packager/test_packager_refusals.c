/* One hostile or damaged archive for each refusal, with its text. In a text, # stands
 * for a number and @ for the archive's path. */
#include "runtime/elf.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_build.h"
#include "tests/support/package/package_craft.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct row {
    const char *name;
    /* A header's bytes: of the entry, from `at` on. */
    const char *entry;
    size_t at, n;
    const char *bytes;
    /* Or anything. */
    void (*edit)(craft *c);
    kiln_str (*pack)(craft *c); /* NULL: tar, zstd, seal */
    kiln_status status;         /* OK: KILN_ERR_PARSE */
    const char *text;
} row;

#define PLAN KILN_ENTRY_PLAN
static kiln_profile profile; /* of the good archive: the same on all machines */
#define HEADER(where, text_of_bytes)                                                   \
    .entry = PLAN, .at = (where), .n = sizeof(text_of_bytes) - 1,                      \
    .bytes = (text_of_bytes)
#define ONLY_FILES "; packages hold regular files only"

/* ---- entries --------------------------------------------------------------------- */

static void drop_plan(craft *c) { craft_remove(c, craft_find(c, PLAN)); }

static craft_entry extra(const char *name) {
    craft_entry e = {.header.time_s = KILN_PACKAGE_TIME, .data = {"hello", 5}};
    craft_set_header(&e, name);
    return e;
}

static void add_extra(craft *c) {
    const craft_entry e = extra("run.sh");
    craft_insert(c, c->n, &e);
}

static void add_many(craft *c) {
    for (int i = 0; i < KILN_PACKAGE_MAX_ENTRIES; i++) {
        const craft_entry e = extra(kiln_format(c->arena, "extra%d", i));
        craft_insert(c, c->n, &e);
    }
}

static void add_huge(craft *c) {
    craft_entry e = extra("huge");
    e.header.bytes = KILN_TAR_MAX_NUMBER;
    kiln_tar_header(&e.header, e.block);
    craft_insert(c, c->n, &e);
}

static void plan_twice(craft *c) {
    const size_t at = craft_find(c, PLAN);
    craft_insert(c, at, &c->entry[at]);
}

static void manifest_twice(craft *c) { craft_insert(c, 3, &c->entry[0]); }
static void manifest_second(craft *c) { craft_swap(c, 0, 1); }
static void no_manifest(craft *c) { craft_remove(c, 0); }
static void no_entries(craft *c) { c->n = 0; }
static void swap_two(craft *c) {
    craft_swap(c, craft_find(c, PLAN), craft_find(c, KILN_ENTRY_LIB));
}
static void one_block_end(craft *c) { c->n_end = KILN_TAR_BLOCK; }
static void no_end(craft *c) { c->n_end = 0; }
static void long_end(craft *c) { c->n_end = 3 * KILN_TAR_BLOCK; }

static void wrong_sum(craft *c) {
    craft_entry *e = &c->entry[craft_find(c, PLAN)];
    e->block[0]++;
    e->keeps_sum = true;
}

static void other_content(craft *c) {
    craft_entry *e = &c->entry[craft_find(c, KILN_ENTRY_GRAPH)];
    char *copy = kiln_arena_dup(c->arena, e->data.p, e->data.n);
    copy[100] ^= 1;
    e->data.p = copy;
}

static void longer_content(craft *c) {
    craft_entry *e = &c->entry[craft_find(c, KILN_ENTRY_GRAPH)];
    e->data = (kiln_str){kiln_format(c->arena, "%.*s ", KILN_STR_ARG(e->data)),
                         e->data.n + 1};
    craft_set_header(e, KILN_ENTRY_GRAPH);
}

/* An entry that is hashed by blocks beside being unpacked, in an archive that is hashed
 * beside as well: bytes that do not compress. */
enum { LARGE_BYTES = (12 << 20) + 123 };
static void large_content(craft *c) {
    static const char head[] = "{\"graphs\": [], \"more\": \"", tail[] = "\"}";
    char *data = kiln_arena_alloc(c->arena, LARGE_BYTES);
    kiln_rng rng;
    kiln_rng_init(&rng, 1);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        data[i] = (char)kiln_rng_range(&rng, '#', '[');
    memcpy(data, head, sizeof head - 1);
    memcpy(data + LARGE_BYTES - (sizeof tail - 1), tail, sizeof tail - 1);
    craft_set_data(c, craft_find(c, KILN_ENTRY_GRAPH), data, LARGE_BYTES);
}

static void other_large_content(craft *c, size_t at) {
    large_content(c);
    craft_entry *e = &c->entry[craft_find(c, KILN_ENTRY_GRAPH)];
    char *copy = kiln_arena_dup(c->arena, e->data.p, e->data.n);
    copy[at] ^= 1;
    e->data.p = copy;
}
static void other_first_block(craft *c) { other_large_content(c, 5); }
static void other_inner_block(craft *c) { other_large_content(c, 4 << 20); }
static void other_last_block(craft *c) { other_large_content(c, LARGE_BYTES - 1); }

static void bomb(craft *c) {
    const size_t n = (size_t)90 << 20;
    craft_set_data(c, craft_find(c, KILN_ENTRY_GRAPH), kiln_arena_alloc(c->arena, n),
                   n);
}

static void large_manifest(craft *c) {
    const size_t n = KILN_PACKAGE_MAX_MANIFEST + 1;
    char *blanks = kiln_arena_alloc(c->arena, n);
    memset(blanks, ' ', n);
    c->entry[0].data = (kiln_str){blanks, n};
    craft_set_header(&c->entry[0], KILN_ENTRY_MANIFEST);
}

/* ---- bytes ----------------------------------------------------------------------- */

static kiln_str good(craft *c) { return craft_compress(c->arena, craft_tar(c)); }

static kiln_str text_file(craft *c) {
    (void)c;
    return kiln_str_from("this is no archive");
}
static kiln_str empty_file(craft *c) {
    (void)c;
    return (kiln_str){"", 0};
}
static kiln_str only_magic(craft *c) { return (kiln_str){good(c).p, 20}; }
static kiln_str cut_by_one(craft *c) {
    const kiln_str s = good(c);
    return (kiln_str){s.p, s.n - 1};
}
static kiln_str cut_in_half(craft *c) {
    const kiln_str s = good(c);
    return (kiln_str){s.p, s.n / 2};
}
static kiln_str no_seal(craft *c) {
    const kiln_str s = good(c);
    return (kiln_str){s.p, s.n - KILN_SEAL_BYTES};
}
/* Behind the frame, under a seal of its own: decoders go on, or pass over it. */
static kiln_str with_frame(craft *c, const char *bytes, size_t n) {
    const kiln_str s = good(c);
    const size_t frame = s.n - KILN_SEAL_BYTES;
    char *longer = kiln_arena_alloc(c->arena, frame + n);
    memcpy(longer, s.p, frame);
    memcpy(longer + frame, bytes, n);
    return craft_seal(c->arena, (kiln_str){longer, frame + n});
}
static kiln_str skipped_frame(craft *c) {
    return with_frame(c, "\x50\x2A\x4D\x18\5\0\0\0hello", 13);
}
static kiln_str empty_frame(craft *c) {
    return with_frame(c, "\x28\xB5\x2F\xFD\x20\0\1\0\0", 9);
}
static kiln_str something_behind(craft *c) {
    const kiln_str s = good(c);
    char *longer = kiln_arena_alloc(c->arena, s.n + 1);
    memcpy(longer, s.p, s.n);
    return (kiln_str){longer, s.n + 1};
}
static kiln_str one_bit(craft *c) {
    const kiln_str s = good(c);
    char *copy = kiln_arena_dup(c->arena, s.p, s.n);
    copy[s.n / 2] ^= 4;
    return (kiln_str){copy, s.n};
}
static kiln_str one_bit_of_many(craft *c) {
    large_content(c);
    return one_bit(c);
}
static kiln_str no_block(craft *c) {
    const kiln_str s = good(c);
    char *copy = kiln_arena_dup(c->arena, s.p, s.n - KILN_SEAL_BYTES);
    copy[6] |= 6; /* the first block's type: 3 is reserved */
    return craft_seal(c->arena, (kiln_str){copy, s.n - KILN_SEAL_BYTES});
}
static kiln_str half_sealed(craft *c) {
    return craft_seal(c->arena, (kiln_str){good(c).p, 3000});
}
static kiln_str twice(craft *c) {
    const kiln_str s = good(c);
    return craft_compress(c->arena, (kiln_str){s.p, s.n - KILN_SEAL_BYTES});
}
static kiln_str no_tar(craft *c) {
    return craft_compress(c->arena, (kiln_str){"x", 1});
}

/* A byte between an entry and the next block. */
static kiln_str dirty_padding(craft *c) {
    const kiln_str tar = craft_tar(c);
    char *copy = kiln_arena_dup(c->arena, tar.p, tar.n);
    const size_t n = c->entry[0].data.n;
    assert_true(kiln_tar_padding(n) > 0);
    copy[KILN_TAR_BLOCK + n] = 1;
    return craft_compress(c->arena, (kiln_str){copy, tar.n});
}
static kiln_str dirty_end(craft *c) {
    const kiln_str tar = craft_tar(c);
    char *copy = kiln_arena_dup(c->arena, tar.p, tar.n);
    copy[tar.n - 1] = 1;
    return craft_compress(c->arena, (kiln_str){copy, tar.n});
}
static kiln_str cut_tar(craft *c) {
    const kiln_str tar = craft_tar(c);
    return craft_compress(c->arena, (kiln_str){tar.p, tar.n / 2});
}

/* ---- manifest -------------------------------------------------------------------- */

static void set_manifest(craft *c, const char *text) {
    c->entry[0].data = kiln_str_from(text);
    craft_set_header(&c->entry[0], KILN_ENTRY_MANIFEST);
}
static void not_json(craft *c) { set_manifest(c, "{\"format\": }"); }
static void other_format(craft *c) { set_manifest(c, "{\"format\": \"zip\"}"); }
static void version_3(craft *c) {
    craft_replace(c, "\"format_version\": 1", "\"format_version\": 3", false);
}
/* Of several packages, and it is one. */
static void version_2(craft *c) {
    craft_replace(c, "\"format_version\": 1", "\"format_version\": 2", false);
}
static void no_version(craft *c) {
    craft_replace(c, "\"format_version\": 1,", "", false);
}
static void no_model(craft *c) { craft_replace(c, "\"model\"", "\"m\"", false); }
static void licence_is_a_number(craft *c) {
    craft_replace(c, "\"licence\": \"MIT\"", "\"licence\": 17", false);
}
static void empty_graph(craft *c) {
    craft_set_data(c, craft_find(c, KILN_ENTRY_GRAPH), "", 0);
}
static void another_graph(craft *c) {
    craft_set_data(c, craft_find(c, KILN_ENTRY_GRAPH), "[1, 2]", 6);
}
static void empty_bill(craft *c) {
    craft_set_data(c, craft_find(c, KILN_ENTRY_SBOM), "{}", 2);
}
static void empty_name(craft *c) { craft_replace(c, "\"small\"", "\"\"", false); }
static void short_hash(craft *c) {
    craft_replace(c, "\"source_sha256\": \"01", "\"source_sha256\": \"0", false);
}
static void other_arch(craft *c) {
    craft_replace(c, "\"architecture\": \"x86_64\"", "\"architecture\": \"aarch64\"",
                  false);
}
static void other_numerics(craft *c) {
    craft_replace(c, "\"numerics\": \"fast\"", "\"numerics\": \"strict\"", false);
}
static void broken_profile(craft *c) {
    craft_replace(c, "\"vector_bytes\": 32", "\"vector_bytes\": 33", false);
}
static void both_arch(craft *c) { craft_replace(c, "\"x86_64\"", "\"aarch64\"", true); }
static void strange_dtype(craft *c) {
    craft_replace(c, "\"dtype\": \"f32\"", "\"dtype\": \"f33\"", false);
}
static void negative_shape(craft *c) {
    craft_replace(c, "[1, 3, 9, 9]", "[1, 3, 9, -9]", false);
}
static void huge_shape(craft *c) {
    craft_replace(c, "[1, 3, 9, 9]", "[1048576, 1048576, 1048576, 1048576]", false);
}
static void other_shape(craft *c) {
    craft_replace(c, "[1, 3, 9, 9]", "[1, 3, 9, 8]", false);
}
static void other_output(craft *c) {
    craft_replace(c, "\"name\": \"y\"", "\"name\": \"z\"", false);
}
static void other_memory(craft *c) {
    craft_replace(c, "\"arena_bytes\": ", "\"arena_bytes\": 1", false);
}
static void other_packing(craft *c) {
    craft_replace(c, "\"pack\": \"build\"", "\"pack\": \"open\"", false);
}
static void other_packed_memory(craft *c) {
    other_packing(c);
    craft_replace(c, "\"packed_bytes\": 0", "\"packed_bytes\": 64", false);
}
static void negative_memory(craft *c) {
    craft_replace(c, "\"param_bytes\": ", "\"param_bytes\": -", false);
}
static void no_tolerance(craft *c) { craft_replace(c, "\"relative\"", "\"r\"", false); }
static void other_symbol(craft *c) { craft_replace(c, "\"k0\"", "\"k9\"", false); }
static void zero_threads(craft *c) {
    craft_replace(c, "\"threads\": 1,", "\"threads\": 0,", false);
}
static void short_code_hash(craft *c) {
    craft_replace(c, "\"code_sha256\": \"", "\"code_sha256\": \"x", false);
}
static void nested_config(craft *c) {
    craft_replace(c, "\"oc_block\": ", "\"oc_block\": {}, \"x\": ", false);
}
static void other_profile(craft *c) {
    craft_replace(c, "\"name\": \"x86-avx2\"", "\"name\": \"mine\"", false);
}
static void evil_entry(craft *c) {
    craft_replace(c, "\"name\": \"lib.so\"", "\"name\": \"../../.bashrc\"", false);
}
static void entry_left_out(craft *c) {
    craft_replace(c, "\"name\": \"plan.bin\"", "\"name\": \"sbom.spdx.json\"", false);
}
static void entry_of_four_gigabytes(craft *c) {
    char *size = kiln_format(c->arena, "\"bytes\": %zu",
                             c->entry[craft_find(c, KILN_ENTRY_LIB)].data.n);
    craft_replace(c, size, "\"bytes\": 4294967296", false);
}
static void entry_too_large(craft *c) {
    char *size = kiln_format(c->arena, "\"bytes\": %zu",
                             c->entry[craft_find(c, KILN_ENTRY_LIB)].data.n);
    craft_replace(c, size, "\"bytes\": 8589934592", false);
}
static void no_entry_list(craft *c) {
    craft_replace(c, "\"entries\"", "\"entrees\"", false);
}

/* ---- contents -------------------------------------------------------------------- */

/* n bytes at `at` of an entry; the manifest follows. */
static void poke(craft *c, const char *name, size_t at, const char *bytes, size_t n) {
    const size_t i = craft_find(c, name);
    const kiln_str data = c->entry[i].data;
    char *copy = kiln_arena_dup(c->arena, data.p, data.n);
    assert_true(at + n <= data.n);
    memcpy(copy + at, bytes, n);
    craft_set_data(c, i, copy, data.n);
}

static void plan_magic(craft *c) { poke(c, PLAN, 0, "NOTAPLAN", 8); }
static void plan_arch(craft *c) {
    poke(c, PLAN, offsetof(kiln_plan_header, arch), "\xB7", 1);
}
static void plan_cut(craft *c) {
    const size_t i = craft_find(c, PLAN);
    craft_set_data(c, i, c->entry[i].data.p, 80);
}
static void lib_machine(craft *c) { poke(c, KILN_ENTRY_LIB, 18, "\xB7", 1); }
static void lib_no_elf(craft *c) { poke(c, KILN_ENTRY_LIB, 0, "#!/bin/sh", 9); }
static void lib_kernel(craft *c) {
    const kiln_str lib = c->entry[craft_find(c, KILN_ENTRY_LIB)].data;
    size_t at = 0;
    while (memcmp(lib.p + at, "\0k1\0", 4) != 0) /* the table of names */
        at++;
    poke(c, KILN_ENTRY_LIB, at, "\0kk\0", 4);
}
/* The library of another network, which has one kernel or many. */
static void lib_of(craft *c, const char *graph) {
    kiln_package other;
    kiln_test_package(c->arena, graph, &profile, &other);
    craft_set_data(c, craft_find(c, KILN_ENTRY_LIB), other.lib.p, other.lib.n);
}
static void lib_of_one(craft *c) {
    lib_of(c, "graph \"g\" { input %x : f32[8] %y = relu(%x) output %y }");
}
static void lib_of_many(craft *c) {
    lib_of(c, "graph \"g\" { input %x : f32[4,4] %a = softmax(%x) "
              "%b = reduce_sum(%a) {axes=[0]} %d = reduce_max(%x) {axes=[1]} "
              "%e = matmul(%a, %x) %f = cumsum(%x) {axis=0} "
              "%g = transpose(%f) {perm=[1,0]} "
              "output %b output %d output %e output %g }");
}
static void lib_import(craft *c) {
    const kiln_str lib = c->entry[craft_find(c, KILN_ENTRY_LIB)].data;
    kiln_elf e;
    char text[KILN_LOAD_TEXT];
    assert_int_equal(kiln_elf_open(&e, lib.p, lib.n, KILN_ELF_X86_64, text), 0);
    enum { SYM = 24, SECTION_AT = 6 };
    poke(c, KILN_ENTRY_LIB, (size_t)e.symbols + SYM + SECTION_AT, "\0\0", 2);
    kiln_elf_fini(&e);
}
static void lib_object(craft *c) { poke(c, KILN_ENTRY_LIB, 16, "\1", 1); /* ET_REL */ }
static void params_cut(craft *c) {
    const size_t i = craft_find(c, KILN_ENTRY_PARAMS);
    craft_set_data(c, i, c->entry[i].data.p, c->entry[i].data.n - 64);
}
static void params_few(craft *c) {
    const int64_t dim = 16;
    const kiln_package_tensor t = {"w", kiln_type_make(KILN_F32, 1, &dim), 0};
    const kiln_str head = kiln_package_params_head(c->arena, &t, 1, 64);
    char *all = kiln_arena_alloc(c->arena, head.n + 64);
    memcpy(all, head.p, head.n);
    craft_set_data(c, craft_find(c, KILN_ENTRY_PARAMS), all, head.n + 64);
}
static void params_length(craft *c) {
    poke(c, KILN_ENTRY_PARAMS, 0, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8);
}
static void params_odd(craft *c) {
    const size_t i = craft_find(c, KILN_ENTRY_PARAMS);
    const size_t n = 8 + 29;
    char *all = kiln_arena_alloc(c->arena, n);
    memcpy(all, "\x1D\0\0\0\0\0\0\0{\"__metadata__\": {\"a\": \"b\"}}", n);
    craft_set_data(c, i, all, n);
}
static void inputs_swapped(craft *c) {
    const kiln_str other = c->entry[craft_find(c, KILN_ENTRY_EXPECTED)].data;
    craft_set_data(c, craft_find(c, KILN_ENTRY_INPUTS), other.p, other.n);
}
static void expected_swapped(craft *c) {
    const kiln_str other = c->entry[craft_find(c, KILN_ENTRY_INPUTS)].data;
    craft_set_data(c, craft_find(c, KILN_ENTRY_EXPECTED), other.p, other.n);
}

/* ---- the table ------------------------------------------------------------------- */

#define E(name) "entry '" name "'"
#define TOO_MUCH                                                                       \
    "the package would unpack to # bytes or more; at most # are allowed for its size"
static const char hundred[] =
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaaa";

static row rows[] = {
    {"no_archive", .pack = text_file,
     .text = "'@' is no package: it does not begin as zstd does"},
    {"empty_file", .pack = empty_file,
     .text = "'@' is no package: it does not begin as zstd does"},
    {"first_bytes_only", .pack = only_magic,
     .text = "'@' is truncated: 20 bytes are no package"},
    {"cut_by_one_byte", .pack = cut_by_one,
     .text = "'@' is truncated, or something was added: its last bytes are not a "
             "package's seal"},
    {"cut_in_half", .pack = cut_in_half,
     .text = "'@' is truncated, or something was added: its last bytes are not a "
             "package's seal"},
    {"without_seal", .pack = no_seal,
     .text = "'@' is truncated, or something was added: its last bytes are not a "
             "package's seal"},
    {"byte_behind_the_seal", .pack = something_behind,
     .text = "'@' is truncated, or something was added: its last bytes are not a "
             "package's seal"},
    {"a_frame_that_is_skipped", .pack = skipped_frame,
     .text = "'@' must be one zstd frame and its seal: something was added to it"},
    {"an_empty_frame", .pack = empty_frame,
     .text = "'@' must be one zstd frame and its seal: something was added to it"},
    {"one_bit_turned", .pack = one_bit,
     .text = "'@' is damaged: its SHA-256 is not the one in its seal; get it again"},
    {"one_bit_turned_of_many", .pack = one_bit_of_many,
     .text = "'@' is damaged: its SHA-256 is not the one in its seal; get it again"},
    {"bad_zstd_under_a_good_seal", .pack = no_block,
     .text = "the archive cannot be decompressed: *"},
    {"half_a_frame_under_a_good_seal", .pack = half_sealed,
     .text = "the archive cannot be decompressed: *"},
    {"compressed_twice", .pack = twice, .text = "the archive must be compressed once"},
    {"no_tar", .pack = no_tar, .text = "the archive holds no tar"},
    {"tar_cut", .pack = cut_tar, .text = "the tar ends in or behind entry '*'"},
    {"no_entries", .edit = no_entries, .text = "the archive holds no entries"},
    {"padding_not_zero", .pack = dirty_padding,
     .text = E("manifest.json") ": what follows it up to the block's end must be 0"},
    {"one_zero_block_at_the_end", .edit = one_block_end,
     .text = "the tar must end in two blocks of zeros, has one"},
    {"second_zero_block_not_zero", .pack = dirty_end,
     .text = "the tar must end in two blocks of zeros, has one"},
    {"licence_is_a_number", .edit = licence_is_a_number,
     .text = "manifest.json: 'model.licence' must be an SPDX expression"},
    {"empty_graph", .edit = empty_graph, .text = "graph.json:1:1: *"},
    {"another_graph", .edit = another_graph,
     .text = "graph.json: must be an object with 'graphs'"},
    {"empty_bill", .edit = empty_bill,
     .text = "sbom.spdx.json: must be an object with 'spdxVersion'"},
    {"no_zero_blocks", .edit = no_end,
     .text = "the tar ends in or behind entry 'selftest/inputs.safetensors'"},
    {"bytes_behind_the_end", .edit = long_end,
     .text = "there are bytes behind the tar's end"},

    {"hard_link", HEADER(156, "1"), .text = E("plan.bin") " is a hard link" ONLY_FILES},
    {"symbolic_link", HEADER(156, "2"),
     .text = E("plan.bin") " is a symbolic link" ONLY_FILES},
    {"character_device", HEADER(156, "3"),
     .text = E("plan.bin") " is a device" ONLY_FILES},
    {"block_device", HEADER(156, "4"), .text = E("plan.bin") " is a device" ONLY_FILES},
    {"folder", HEADER(156, "5"), .text = E("plan.bin") " is a folder" ONLY_FILES},
    {"fifo", HEADER(156, "6"), .text = E("plan.bin") " is a fifo" ONLY_FILES},
    {"sparse", HEADER(156, "S"), .text = E("plan.bin") " is a sparse file" ONLY_FILES},
    {"pax_header", HEADER(156, "x"),
     .text = E("plan.bin") " is a pax header" ONLY_FILES},
    {"global_pax_header", HEADER(156, "g"),
     .text = E("plan.bin") " is a pax header" ONLY_FILES},
    {"gnu_long_name", HEADER(156, "L"),
     .text = E("plan.bin") " is a GNU long name" ONLY_FILES},
    {"old_type_of_a_file", HEADER(156, "\0"),
     .text = E("plan.bin") " is of a type that is not known" ONLY_FILES},
    {"gnu_tar", HEADER(257, "ustar  \0"),
     .text = E("plan.bin") ": its header is not ustar"},
    {"absolute_path", HEADER(0, "/etc/passwd"),
     .text = E("/etc/passwd") ": its path leads outside the folder"},
    {"path_up", HEADER(0, "../plan.bin"),
     .text = E("../plan.bin") ": its path leads outside the folder"},
    {"path_up_inside", HEADER(0, "a/../../../x"),
     .text = E("a/../../../x") ": its path leads outside the folder"},
    {"path_with_a_dot", HEADER(0, "./plan.bin"),
     .text = E("./plan.bin") ": its path leads outside the folder"},
    {"path_of_a_folder", HEADER(0, "plan.bin/"),
     .text = E("plan.bin/") ": its path leads outside the folder"},
    {"path_with_a_backslash", HEADER(0, "..\\plan.bin"),
     .text = E("..\\plan.bin") ": its path leads outside the folder"},
    {"path_with_a_control_character", HEADER(0, "plan\033[2J"),
     .text = E("plan?[2J") ": its path leads outside the folder"},
    {"zero_byte_in_a_name", HEADER(0, "plan\0bin"),
     .text = E("plan") ": a zero byte in its name"},
    {"name_without_end", .entry = PLAN, .at = 0, .n = 100, .bytes = hundred,
     .text =
         "entry 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': its name has no end"},
    {"name_with_prefix", HEADER(345, "x"),
     .text = E("plan.bin") ": its name has a prefix"},
    {"executable", HEADER(100, "0000755"),
     .text = E("plan.bin") ": its mode must be 0644"},
    {"set_user_id", HEADER(100, "0004644"),
     .text = E("plan.bin") ": its mode must be 0644"},
    {"mode_with_blanks", HEADER(100, " 000644"),
     .text = E("plan.bin") ": its mode must be 0644"},
    {"owner", HEADER(108, "0001750"), .text = E("plan.bin") ": its owner must be 0"},
    {"group", HEADER(116, "0001750"), .text = E("plan.bin") ": its owner must be 0"},
    {"name_of_owner", HEADER(265, "root"),
     .text = E("plan.bin") ": its owner must have no name"},
    {"name_of_group", HEADER(297, "root"),
     .text = E("plan.bin") ": its owner must have no name"},
    {"size_in_binary", HEADER(124, "\200\0\0\0\0\0\0\0\0\0\0\001"),
     .text = E("plan.bin") ": its size is no number"},
    {"time_in_binary", HEADER(136, "\200\0\0\0\0\0\0\0\0\0\0\001"),
     .text = E("plan.bin") ": its time is no number"},
    {"time_of_its_own", HEADER(136, "01234567012"),
     .text = E("plan.bin") ": its time must be that of the first entry"},
    {"target_of_a_link", HEADER(157, "/etc/passwd"),
     .text = E("plan.bin") " has the target of a link"},
    {"device_number", HEADER(329, "0000001"),
     .text = E("plan.bin") ": its header is not as kiln writes it"},
    {"rest_of_the_header", HEADER(500, "x"),
     .text = E("plan.bin") ": its header is not as kiln writes it"},
    {"checksum", .edit = wrong_sum, .text = E("qlan.bin") ": its header is damaged"},

    {"entry_missing", .edit = drop_plan, .text = E("plan.bin") " is missing"},
    {"entry_more", .edit = add_extra, .text = E("run.sh") " is not in the manifest"},
    {"entry_twice", .edit = plan_twice, .text = E("plan.bin") " comes twice"},
    {"manifest_twice", .edit = manifest_twice,
     .text = E("manifest.json") " comes twice"},
    {"manifest_second", .edit = manifest_second,
     .text = "the first entry must be 'manifest.json', is 'graph.json'"},
    {"manifest_missing", .edit = no_manifest,
     .text = "the first entry must be 'manifest.json', is 'graph.json'"},
    {"entries_out_of_order", .edit = swap_two,
     .text = E("plan.bin") " comes where 'lib.so' must"},
    {"too_many_entries", .edit = add_many, .status = KILN_ERR_LIMIT,
     .text = "more than 64 entries"},
    {"size_not_the_manifests", .edit = longer_content,
     .text = E("graph.json") " has # bytes, the manifest says #"},
    {"hash_not_the_manifests", .edit = other_content,
     .text = E("graph.json") ": its SHA-256 is not the manifest's"},
    {"hash_of_the_first_block", .edit = other_first_block,
     .text = E("graph.json") ": its SHA-256 is not the manifest's"},
    {"hash_of_an_inner_block", .edit = other_inner_block,
     .text = E("graph.json") ": its SHA-256 is not the manifest's"},
    {"hash_of_the_last_block", .edit = other_last_block,
     .text = E("graph.json") ": its SHA-256 is not the manifest's"},
    {"bomb_by_ratio", .edit = bomb, .status = KILN_ERR_LIMIT, .text = TOO_MUCH},
    {"bomb_by_header", .edit = add_huge, .status = KILN_ERR_LIMIT, .text = TOO_MUCH},
    {"bomb_by_manifest", .edit = entry_of_four_gigabytes, .status = KILN_ERR_LIMIT,
     .text = TOO_MUCH},
    {"large_manifest", .edit = large_manifest, .status = KILN_ERR_LIMIT,
     .text = "manifest.json: 16777217 bytes; at most 16777216 are read"},

    {"manifest_no_json", .edit = not_json,
     .text = "manifest.json:1:12: expected a value, found '}'"},
    {"manifest_of_another_format", .edit = other_format,
     .text = "manifest.json: 'format' must be 'kiln package'"},
    {"format_version_2", .edit = version_2,
     .text = "manifest.json: 'variants' must be a list of 2 to 32"},
    {"format_version_3", .edit = version_3, .status = KILN_ERR_UNSUPPORTED,
     .text = "manifest.json: format version 3 is not read, only 1 and 2; use the kiln "
             "that made it"},
    {"format_version_missing", .edit = no_version, .status = KILN_ERR_UNSUPPORTED,
     .text = "manifest.json: format version 0 is not read, only 1 and 2; use the kiln "
             "that made it"},
    {"model_missing", .edit = no_model,
     .text = "manifest.json: 'model.name' must be a string"},
    {"model_without_name", .edit = empty_name,
     .text = "manifest.json: 'model.name' must be a text of 1 to 256 bytes"},
    {"hash_of_model", .edit = short_hash,
     .text = "manifest.json: 'model.source_sha256' must be 64 hexadecimal digits"},
    {"architecture_not_the_profiles", .edit = other_arch,
     .text = "manifest.json: 'architecture' must be that of the profile"},
    {"numerics_not_the_profiles", .edit = other_numerics,
     .text = "manifest.json: 'numerics' must be that of the profile"},
    {"profile_broken", .edit = broken_profile,
     .text = "manifest.json: profile: 'vector_bytes' must be 16, 32 or 64"},
    {"port_of_strange_type", .edit = strange_dtype,
     .text = "manifest.json: 'inputs.dtype' must be an element type"},
    {"port_of_negative_shape", .edit = negative_shape,
     .text = "manifest.json: 'inputs.shape' must be numbers of at least 0"},
    {"port_of_huge_shape", .edit = huge_shape,
     .text = "manifest.json: 'inputs.shape' must be that of a value"},
    {"memory_below_zero", .edit = negative_memory,
     .text = "manifest.json: 'memory.param_bytes' must be a number from 0 to #"},
    {"packed_when_it_says_otherwise", .edit = other_packing,
     .text = "manifest.json: 'pack' must be 'build', as 'memory.packed_bytes' has it"},
    {"tolerance_missing", .edit = no_tolerance,
     .text = "manifest.json: 'tolerance.relative' must be a number of at least 0"},
    {"no_threads", .edit = zero_threads,
     .text = "manifest.json: 'threads' must be a number from 1 to 1024"},
    {"code_hashed_otherwise", .edit = short_code_hash,
     .text = "manifest.json: 'kernels.code_sha256' must be 64 hexadecimal digits"},
    {"configuration_nested", .edit = nested_config,
     .text = "manifest.json: 'kernels.configuration' must be an object of words and "
             "numbers"},
    {"entry_that_packages_do_not_have", .edit = evil_entry,
     .text = "manifest.json: 'entries.name' must be an entry of packages, is "
             "'../../.bashrc'"},
    {"entry_listed_twice", .edit = entry_left_out,
     .text = "manifest.json: 'entries' must be sorted by name, each once"},
    {"entry_larger_than_tar_can", .edit = entry_too_large,
     .text = "manifest.json: 'entries.bytes' must be a number from 0 to 8589934591"},
    {"entries_not_listed", .edit = no_entry_list,
     .text = "manifest.json: 'entries' must be a list of at most 64"},

    {"plan_without_magic", .edit = plan_magic,
     .text = "plan.bin: plan: does not begin with 'KILNPLAN'"},
    {"plan_cut", .edit = plan_cut,
     .text = "plan.bin: plan: 80 bytes are too few for a header of #"},
    {"plan_of_another_architecture", .edit = plan_arch,
     .text = "manifest.json is for x86_64 (ELF machine 62), plan.bin for ELF machine "
             "183"},
    {"manifest_of_another_architecture", .edit = both_arch,
     .text = "manifest.json is for aarch64 (ELF machine 183), plan.bin for ELF machine "
             "62"},
    {"library_of_another_architecture", .edit = lib_machine,
     .text = "lib.so is for ELF machine 183, plan.bin for 62"},
    {"library_no_elf", .edit = lib_no_elf,
     .text = "lib.so: this is no ELF64 object or shared library"},
    {"library_of_an_object", .edit = lib_object, .text = "lib.so: *"},
    {"library_that_imports", .edit = lib_import,
     .text = "lib.so: the symbol 'k0' is not defined"},
    {"library_of_a_smaller_network", .edit = lib_of_one,
     .text = "lib.so: has no kernel 'k1'"},
    {"library_of_a_larger_network", .edit = lib_of_many,
     .text = "lib.so has # symbols, plan.bin # kernels"},
    {"library_without_a_kernel", .edit = lib_kernel,
     .text = "lib.so: has no kernel 'k1'"},
    {"profile_not_the_plans", .edit = other_profile,
     .text = "manifest.json and plan.bin do not agree on the profile"},
    {"inputs_not_the_plans", .edit = other_shape,
     .text = "manifest.json and plan.bin do not agree on the inputs"},
    {"outputs_not_the_plans", .edit = other_output,
     .text = "manifest.json and plan.bin do not agree on the outputs"},
    {"packed_memory_not_the_plans", .edit = other_packed_memory,
     .text = "manifest.json and plan.bin do not agree on the memory"},
    {"memory_not_the_plans", .edit = other_memory,
     .text = "manifest.json and plan.bin do not agree on the memory"},
    {"kernels_not_the_plans", .edit = other_symbol,
     .text = "manifest.json and plan.bin do not agree on the kernels"},
    {"params_cut", .edit = params_cut,
     .text = "params.safetensors: its tensors have # bytes, its data #"},
    {"params_too_few", .edit = params_few,
     .text = "params.safetensors holds 64 bytes, plan.bin wants #"},
    {"params_of_endless_head", .edit = params_length,
     .text = "params.safetensors: its head does not fit the file"},
    {"params_not_aligned", .edit = params_odd,
     .text = "params.safetensors: its data must begin at a multiple of 64 bytes"},
    {"inputs_of_selftest", .edit = inputs_swapped,
     .text = "selftest/inputs.safetensors: tensor 'input0' is missing"},
    {"outputs_of_selftest", .edit = expected_swapped,
     .text = "selftest/expected.safetensors: tensor 'output0' is missing"},
};

/* ---- checking -------------------------------------------------------------------- */

static const char *archive; /* a good one */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The first line of what was said, against the row's text. '*': anything. */
static bool matches(const char *said, const char *want, const char *path) {
    for (; *want != '\0' && *want != '*'; want++) {
        if (*want == '#' && is_digit(*said)) {
            while (is_digit(*said))
                said++;
        } else if (*want == '@' && strncmp(said, path, strlen(path)) == 0) {
            said += strlen(path);
        } else if (*said++ != *want) {
            return false;
        }
    }
    return *want == '*' || *said == '\n' || *said == '\0';
}

/* Files in memory that this process has open. */
static int n_links_to_memory(kiln_arena *a) {
    char **name = NULL, to[64];
    size_t n = 0;
    int found = 0;
    if (kiln_dir_list(a, "/proc/self/fd", &name, &n, NULL) != KILN_OK)
        kiln_test_skip("there is no /proc");
    for (size_t i = 0; i < n; i++) {
        const ssize_t got =
            readlink(kiln_path_join(a, "/proc/self/fd", name[i]), to, sizeof to - 1);
        to[got > 0 ? got : 0] = '\0';
        found += strncmp(to, "/memfd:kiln", strlen("/memfd:kiln")) == 0;
    }
    return found;
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    char **names = NULL;
    size_t n = 0;
    craft *c = kiln_new(&a, craft);
    craft_open(c, &a, archive);
    if (r->entry != NULL)
        memcpy(c->entry[craft_find(c, r->entry)].block + r->at, r->bytes, r->n);
    if (r->edit != NULL)
        r->edit(c);
    const char *dir = kiln_path_join(&a, kiln_test_dir(), r->name);
    const char *path = kiln_path_join(&a, dir, "bad.tar.zst");
    kiln_assert_status_ok(kiln_dir_make(dir, &err), &err);
    craft_write(path, r->pack != NULL ? r->pack(c) : good(c));
    const kiln_status st =
        kiln_package_unpack(&a, path, kiln_path_join(&a, dir, "out"), NULL, &err);
    assert_int_equal(st, r->status != KILN_OK ? r->status : KILN_ERR_PARSE);
    if (!matches(err.text, r->text, path))
        fail_msg("said: %s\nmust be: %s", err.text, r->text);
    kiln_err held = {0};
    assert_int_equal(
        kiln_package_hold(&a, path, kiln_path_join(&a, dir, "out"), NULL, &held),
        st); /* in memory for the same reason */
    assert_string_equal(held.text, err.text);
    assert_int_equal(n_links_to_memory(&a), 0);
    kiln_assert_status_ok(kiln_dir_list(&a, dir, &names, &n, &err), &err);
    assert_int_equal(n, 1); /* the archive, and nothing that was left behind */
    kiln_assert_status_ok(kiln_remove_tree(dir, &err), &err);
    kiln_arena_fini(&a);
}

/* The table proves something only if what it changes was good. */
static void check_good(void (*edit)(craft *c), const char *name) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package_facts f;
    craft *c = kiln_new(&a, craft);
    const char *path = kiln_format(&a, "%s/%s.tar.zst", kiln_test_dir(), name);
    const char *folder = kiln_path_join(&a, kiln_test_dir(), name);
    craft_open(c, &a, archive);
    if (edit != NULL)
        edit(c);
    craft_write(path, good(c));
    kiln_assert_status_ok(kiln_package_unpack(&a, path, folder, NULL, &err), &err);
    kiln_assert_status_ok(kiln_package_verify_folder(folder, &err), &err);
    const char *again = kiln_format(&a, "%s.again", folder);
    kiln_assert_status_ok(kiln_package_unpack_for_now(&a, path, again, &f, &err), &err);
    assert_string_equal(f.model, "small");
    kiln_assert_status_ok(kiln_package_verify_folder(again, &err), &err);
    kiln_arena_fini(&a);
}

/* The folder is links to files that nobody can change, until the arena is reset. */
static void held_it_is_good(void **state) {
    (void)state;
    kiln_arena a = {0}, scratch = {0};
    kiln_err err = {0};
    kiln_package_facts f;
    struct stat st;
    const char *folder = kiln_path_join(&scratch, kiln_test_dir(), "held");
    const int before = n_links_to_memory(&scratch);
    kiln_assert_status_ok(kiln_package_hold(&a, archive, folder, &f, &err), &err);
    if (n_links_to_memory(&scratch) == before)
        kiln_test_skip("there are no files in memory here, or too little of it");
    assert_string_equal(f.model, "small");
    assert_int_equal(n_links_to_memory(&scratch) - before, (int)f.n_entries + 1);
    kiln_assert_status_ok(kiln_package_verify_folder(folder, &err), &err);
    for (size_t i = 0; i < f.n_entries; i++) {
        const char *path = kiln_path_join(&scratch, folder, f.entry[i].name);
        assert_int_equal(lstat(path, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal((uint64_t)st.st_size, f.entry[i].bytes);
        assert_int_equal(truncate(path, 0), -1);
    }
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_package_hold(&a, archive, folder, NULL, &err), KILN_ERR_ARG,
                      &err, "exists; name a folder that does not");
    kiln_arena_fini(&a);
    assert_int_equal(n_links_to_memory(&scratch), before);
    kiln_arena_fini(&scratch);
}

static void unchanged_it_is_good(void **state) {
    (void)state;
    check_good(NULL, "same");
}

static void large_it_is_good(void **state) {
    (void)state;
    check_good(large_content, "large");
}

static void make_archive(void) {
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_profile_find(kiln_test_arena(), "x86-avx2", &profile, &err), &err);
    archive = kiln_path_join(kiln_test_arena(), kiln_test_dir(), "good.tar.zst");
    kiln_test_package_file(kiln_test_network_text, &profile, archive);
}

int main(void) {
    kiln_test_add("unchanged_it_is_good", unchanged_it_is_good, NULL);
    kiln_test_add("large_it_is_good", large_it_is_good, NULL);
    kiln_test_add("held_it_is_good", held_it_is_good, NULL);
    kiln_test_add_rows(check_row, rows);
    make_archive();
    return kiln_test_run("package refusals");
}
