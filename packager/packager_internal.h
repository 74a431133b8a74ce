/* Shared inside packager. */
#ifndef KILN_PACKAGER_INTERNAL_H
#define KILN_PACKAGER_INTERNAL_H

#include "packager/packager.h"
#include "packager/tar.h"

/* Entries that every package has. */
#define KILN_ENTRY_MANIFEST "manifest.json"
#define KILN_ENTRY_GRAPH "graph.json"
#define KILN_ENTRY_LIB "lib.so"
#define KILN_ENTRY_PARAMS "params.safetensors"
#define KILN_ENTRY_PLAN "plan.bin"
#define KILN_ENTRY_SBOM "sbom.spdx.json"
#define KILN_ENTRY_EXPECTED "selftest/expected.safetensors"
#define KILN_ENTRY_INPUTS "selftest/inputs.safetensors"

/* ELF machine of an architecture. */
int kiln_package_machine(kiln_arch arch);
/* A name as JSON gives it back: bytes that are no UTF-8 become the characters of their
 * numbers. */
const char *kiln_package_utf8(kiln_arena *a, const char *name);

/* ---- manifest -------------------------------------------------------------------- */

/* What plan.bin says: ports, and memory but for its lower bound. */
void kiln_facts_of_plan(kiln_arena *a, const kiln_plan *plan, kiln_package_facts *f);
kiln_status kiln_manifest_read(kiln_arena *a, kiln_str text, kiln_package_facts *out,
                               kiln_err *err);

/* ---- safetensors ----------------------------------------------------------------- */

typedef struct kiln_safetensor {
    const char *name;
    kiln_type type;      /* with its layout */
    uint64_t begin, end; /* in the data; end - begin is padded to 64 */
} kiln_safetensor;

typedef struct kiln_safetensors {
    kiln_safetensor *tensor;
    size_t n;
    uint64_t data;  /* where the data begins in the file */
    uint64_t bytes; /* of the data */
} kiln_safetensors;

/* `start`: the file's beginning, with its whole head; file_bytes: of the file. Checks
 * that tensors cover the data without holes. */
kiln_status kiln_safetensors_read(kiln_arena *a, kiln_str start, uint64_t file_bytes,
                                  const char *name, kiln_safetensors *out,
                                  kiln_err *err);

/* ---- contents -------------------------------------------------------------------- */

/* The parts that must fit one another; as files' bytes. */
typedef struct kiln_package_parts {
    kiln_str plan;
    const kiln_str *module; /* by number: lib.so, lib1.so, ... */
    size_t n_modules;
    kiln_str params; /* its beginning at least: the whole head */
    uint64_t params_bytes;
    kiln_str inputs, expected;
} kiln_package_parts;

/* The self-test's tensors. */
kiln_status kiln_selftest_decode(kiln_arena *a, const kiln_package_facts *f,
                                 kiln_str inputs, kiln_str expected, kiln_tensor *in,
                                 kiln_package_expected *out, kiln_err *err);
/* Plan, library and parameters are sound, fit the manifest and one another. */
kiln_status kiln_package_check(kiln_arena *a, const kiln_package_facts *f,
                               const kiln_package_parts *p, kiln_err *err);
/* The tensors of a file of parameters, which has the bytes that the plan wants; start
 * and file_bytes as of kiln_safetensors_read. */
kiln_status kiln_package_params_of(kiln_arena *a, const kiln_plan *plan, kiln_str start,
                                   uint64_t file_bytes, kiln_safetensors *out,
                                   kiln_err *err);
/* A shared library for the machine that imports nothing and has every kernel of the
 * plan's module, and no others. */
kiln_status kiln_package_check_lib(kiln_arena *a, kiln_str lib, const kiln_plan *plan,
                                   size_t module, kiln_err *err);
kiln_str kiln_package_sbom(kiln_arena *a, const kiln_package_facts *f, int64_t time_s);

/* ---- several packages in one (docs/package-format.md) ---------------------------- */

#define KILN_ENTRY_VARIANTS "variants"
/* Of all entries of an archive: manifest, parameters and variants, and what each has. */
enum {
    KILN_PACKAGE_ALL_ENTRIES =
        3 + KILN_PACKAGE_MAX_VARIANTS * (8 + KILN_PACKAGE_MAX_MODULES)
};
/* ---- the archive ----------------------------------------------------------------- */

/* An entry that is written, in pieces. */
typedef struct kiln_content {
    const char *name;
    const kiln_str *piece;
    size_t n_pieces;
} kiln_content;
uint64_t kiln_content_bytes(const kiln_content *c);
/* Its name, size and hash. */
void kiln_content_describe(const kiln_content *c, kiln_package_entry *e);
/* Writes `path` whole or not at all; the first entry is the manifest. */
kiln_status kiln_archive_write(kiln_arena *a, const char *path, const kiln_content *all,
                               size_t n, int64_t time_s, char sha256[KILN_SHA256_HEX],
                               kiln_err *err);

/* What a manifest lists, of one package or of several. */
typedef struct kiln_package_list {
    kiln_package_facts facts; /* of one package */
    size_t n_variants;        /* 0: it is one; else `facts` are not read yet */
    const kiln_package_entry *entry;
    size_t n_entries;
} kiln_package_list;
kiln_status kiln_package_list_read(kiln_arena *a, kiln_str text, kiln_package_list *out,
                                   kiln_err *err);
/* The first entry, which must be the manifest; `text` is in the arena. */
kiln_status kiln_package_take_manifest(kiln_arena *a, kiln_tar_reader *r,
                                       kiln_package_list *out, kiln_str *text,
                                       kiln_err *err);
/* Limits on what the manifest promises and itself, against the archive's size. */
kiln_status kiln_package_check_limits(uint64_t unpacked_bytes, uint64_t archive_bytes,
                                      kiln_err *err);
uint64_t kiln_package_list_bytes(const kiln_package_list *l);
/* Reads the whole tar: headers, limits, and that the entries are those of the manifest,
 * which is left in `out`. */
kiln_status kiln_package_survey(kiln_arena *a, kiln_tar_source tar,
                                uint64_t archive_bytes, kiln_package_list *out,
                                kiln_err *err);
/* The manifest alone, or the manifests of all variants. */
kiln_status kiln_package_peek(kiln_arena *a, kiln_tar_source tar,
                              kiln_package_facts *out, kiln_err *err);

/* "v3": the folder of that one. */
const char *kiln_variant_folder(kiln_arena *a, size_t i);
/* What the runtime reads, of packages in this order. */
kiln_str kiln_variants_text(kiln_arena *a, const kiln_package_facts *f, size_t n);
/* Makes one of facts[0] and all of them. */
kiln_package_facts kiln_variants_facts(kiln_arena *a, const kiln_package_facts *f,
                                       size_t n);
/* Of a folder with so many: their facts, and all of them as one. */
kiln_status kiln_variants_inspect(kiln_arena *a, const char *folder, size_t n,
                                  kiln_package_facts *out, kiln_err *err);
/* The folder's files against its list and one another: one package, or each of several.
 * Hashes are not asked. */
kiln_status kiln_package_check_folder(kiln_arena *a, const char *folder,
                                      const kiln_package_list *l, kiln_err *err);
/* Are these of one model, with the same inputs and outputs but for shapes? */
kiln_status kiln_variants_fit(const kiln_package_facts *f, size_t n, kiln_err *err);
/* Are the entries those of these packages, with the same bytes? */
kiln_status kiln_variants_check(kiln_arena *a, const kiln_package_list *l,
                                const kiln_package_facts *f, kiln_err *err);

/* Behind the zstd frame: a skippable frame (RFC 8878, 3.1.2) with the SHA-256 of all
 * bytes before it. Other programs pass over it. */
enum { KILN_SEAL_BYTES = 84 };
void kiln_seal_make(const char sha256[KILN_SHA256_HEX],
                    unsigned char seal[KILN_SEAL_BYTES]);
/* `frame` is what lies before the seal, whose SHA-256 is not compared. */
kiln_status kiln_seal_cut(kiln_str file, const char *path, kiln_str *frame,
                          kiln_err *err);

/* Is it the frame's SHA-256? Large frames are hashed beside the caller. After `begin`,
 * `end` must be called; until then all three are borrowed. */
typedef struct kiln_sealing {
    kiln_str frame; /* as kiln_seal_cut made it: the seal is behind it */
    const char *path;
    char sha256[KILN_SHA256_HEX];
    kiln_task task;
} kiln_sealing;
void kiln_sealing_begin(kiln_sealing *s, kiln_str frame, const char *path);
kiln_status kiln_sealing_end(kiln_sealing *s, kiln_err *err);
/* One zstd frame and nothing beside it: KILN_ERR_PARSE otherwise. For bytes that were
 * decompressed or hashed before: damage has a better name there. */
kiln_status kiln_seal_check_frame(kiln_str frame, const char *path, kiln_err *err);

#endif
