/* packager: a compiled network as one file that runs by itself
 * (docs/package-format.md).
 *
 *     <model>-<version>-<profile>.kiln.tar.zst
 *
 * The archive is a function of what is packed and of kiln_package.time_s, of nothing
 * else: equal contents give equal bytes on every machine. Reading trusts nothing:
 * limits are held before memory or disk is used, and a folder appears only once all of
 * it has been verified.
 */
#ifndef KILN_PACKAGER_PACKAGER_H
#define KILN_PACKAGER_PACKAGER_H

#include "base/base.h"
#include "compiler/graph/graph.h"
#include "compiler/target/target.h"
#include "packager/sign.h"
#include "runtime/plan.h"

enum {
    KILN_PACKAGE_FORMAT = 1,            /* of manifest and archive */
    KILN_PACKAGE_FORMAT_OF_SEVERAL = 2, /* of archives with variants */
    /* Limits: past these an archive is neither written nor read. */
    KILN_PACKAGE_MAX_ENTRIES = 64,
    KILN_PACKAGE_MAX_MANIFEST = 16 << 20, /* bytes */
    KILN_PACKAGE_MAX_MODULES = 9,         /* beside the host's library */
    KILN_PACKAGE_MAX_VARIANTS = 32
};
#define KILN_PACKAGE_MAX_BYTES ((uint64_t)1 << 36) /* of all entries, unpacked */
/* Unpacked bytes are at most KILN_PACKAGE_FREE_BYTES and so many times the archive. */
#define KILN_PACKAGE_MAX_RATIO 1000
#define KILN_PACKAGE_FREE_BYTES ((uint64_t)64 << 20)
/* 1980-01-01: the time of entries where SOURCE_DATE_EPOCH is not set. */
#define KILN_PACKAGE_TIME ((int64_t)315532800)

/* ---- what a package says about itself: manifest.json ----------------------------- */

typedef struct kiln_package_port {
    const char *name;
    const char *dtype; /* "f32" */
    int rank;
    int64_t dim[KILN_PLAN_MAX_RANK];
} kiln_package_port;

/* One row of the coverage ledger: where a kernel came from. */
typedef struct kiln_package_kernel {
    const char *symbol;            /* "k3" */
    const char *origin;            /* "tuned", "timed", "transferred", "default", ... */
    const char *tmpl;              /* the template's name */
    const char *config;            /* JSON object: the template's knobs */
    const char *workload;          /* its key */
    int64_t muladds, flops, bytes; /* of one call */
    const char *const *step;       /* names of the steps that call it */
    size_t n_steps;
    /* kiln_package_code_of its object; NULL: not known. */
    const char *code_sha256;
    int64_t code_bytes;
} kiln_package_kernel;

/* A step of which a search over layouts decided how it is done: types of what it reads
 * and makes, as kernels do it, with ';' behind each (graph-text.md); of a concat that
 * shares memory, of the whole. */
typedef struct kiln_package_layouts {
    const char *step, *types;
} kiln_package_layouts;

/* An input of the model that was fixed when it was imported: none of the package's. */
typedef struct kiln_package_fixed {
    const char *name;
    const char *type;             /* as graph text has it: "f32[1,3]" */
    char sha256[KILN_SHA256_HEX]; /* of its value's bytes, row-major */
} kiln_package_fixed;
/* Is it, as far as its letters go, an SPDX expression: "MIT OR Apache-2.0", at most 256
 * bytes? */
bool kiln_package_is_licence(const char *text);
/* In the arena. */
kiln_package_fixed kiln_package_fixed_of(kiln_arena *a, const char *name,
                                         const kiln_tensor *value);

/* |got - want| <= relative * |want| + rms * rms(output) + absolute */
typedef struct kiln_package_tolerance {
    double relative, rms, absolute;
} kiln_package_tolerance;

/* Bytes. All but lower_bound are what plan.bin says. */
typedef struct kiln_package_memory {
    uint64_t arena, lower_bound; /* activations: planned, and what any plan needs */
    uint64_t params, workspace, scratch;
    uint64_t packed; /* what a model makes of parameters when it is opened; 0: nothing,
                        they are packed in the archive */
} kiln_package_memory;

/* "open": parameters are packed when a model is opened; "build": in the archive. */
static inline const char *kiln_package_pack(const kiln_package_memory *m) {
    return m->packed > 0 ? "open" : "build";
}

typedef struct kiln_package_entry {
    const char *name;
    uint64_t bytes;
    char sha256[KILN_SHA256_HEX];
} kiln_package_entry;

/* One of several packages in an archive: of one model, for other shapes or another
 * profile. */
typedef struct kiln_package_variant {
    const char *folder;                     /* "v0": in the archive's */
    const struct kiln_package_facts *facts; /* as if it were alone */
} kiln_package_variant;

typedef struct kiln_package_facts {
    const char *model, *version;     /* of the network */
    const char *source_sha256;       /* of the file it was imported from */
    const kiln_package_fixed *fixed; /* inputs of that file */
    size_t n_fixed;
    bool as_reference;   /* its integers round as its format's reference kernels do */
    const char *licence; /* SPDX expression; NULL: not known */
    const char *kiln_version, *llvm_version; /* what compiled it */
    const char *kiln_commit;                 /* of kiln's sources; NULL: not known */
    const char *lld_version;                 /* what linked it: kiln_package_linker */
    kiln_profile profile; /* with numerics, and the device that measures it, if any */
    int threads;          /* that its configurations were chosen for; 0 counts as 1 */
    bool is_unproved;     /* it was packed without having run */
    kiln_package_tolerance tolerance;
    const kiln_package_kernel *kernel;
    size_t n_kernels;
    const kiln_package_layouts *searched; /* none: layouts are as rules have them */
    size_t n_searched;
    kiln_package_memory memory;
    /* Set by reading; a writer leaves them zero, they follow from plan, contents and
     * this program. So do the sizes in `memory`, but for lower_bound. */
    const char *zstd_version;
    const kiln_package_port *input, *output;
    size_t n_inputs, n_outputs;
    /* Kinds of the devices that it needs, the host's first: by the plan. */
    const char *const *device;
    size_t n_devices;
    const kiln_package_entry *entry; /* all but the manifest, in their order */
    size_t n_entries;
    /* Of an archive of several: all of them, profile by profile, the best first; the
     * other members are then the first one's. */
    const kiln_package_variant *variant;
    size_t n_variants; /* 0: it is one */
} kiln_package_facts;

/* "resnet18-1-x86-avx512.kiln.tar.zst", "resnet18-1-x86-avx512-t2.kiln.tar.zst" for two
 * threads: what is no letter, digit, '.', '_' or '-' becomes '_'. */
char *kiln_package_file_name(kiln_arena *a, const kiln_package_facts *f);

/* ---- making one ------------------------------------------------------------------ */

typedef struct kiln_package_object {
    const char *symbol; /* the function that it holds and exports */
    kiln_str bytes;     /* ELF relocatable, of an architecture that runs */
} kiln_package_object;

/* What an object is, whatever its symbol is called and wherever it is linked: the
 * SHA-256 of its code, constants and relocations; bytes of its code. KILN_ERR_PARSE: no
 * object for the machine. */
kiln_status kiln_package_code_of(kiln_arena *a, kiln_arch arch, kiln_str object,
                                 const char **sha256, int64_t *bytes, kiln_err *err);

/* lib.so, and those of further devices: the kernels in one shared library that imports nothing and exports the
 * symbols, by ld.lld-19. KILN_ERR_LIB names the remedy where there is no such program.
 */
kiln_status kiln_package_link(kiln_arena *a, kiln_arch arch,
                              const kiln_package_object *object, size_t n,
                              kiln_str *out, kiln_err *err);

/* The same for linkers to find: its name in what is linked with it is `soname`. Objects
 * without a symbol are in it, but export nothing. */
kiln_status kiln_package_link_as(kiln_arena *a, kiln_arch arch, const char *soname,
                                 const kiln_package_object *object, size_t n,
                                 kiln_str *out, kiln_err *err);

/* "lib1.so": what the device of that number runs; 0: "lib.so", the host's. "lib1.gpu":
 * a GPU's, whose bytes are a module of runtime/gpu_module.h. */
const char *kiln_package_module_name(kiln_arena *a, size_t device, bool is_gpu);
/* The number in such an entry's name; 0: it is no other device's module. */
size_t kiln_package_module_number(const char *name);
/* By its bytes: is it a GPU's? */
bool kiln_package_is_gpu_module(kiln_str module);
/* The entry that is the module of that device. */
const char *kiln_package_module_of(const kiln_package_facts *f, size_t device);

/* "Debian LLD 19.1.7"; fails as linking does where there is none. */
kiln_status kiln_package_linker(kiln_arena *a, const char **version, kiln_err *err);

/* A tensor of a safetensors file; its bytes, in its type's layout, lie at `offset`
 * (a multiple of 64) of the data. */
typedef struct kiln_package_tensor {
    const char *name;
    kiln_type type;
    uint64_t offset;
} kiln_package_tensor;

/* params.safetensors: tensors in order of offset, one behind another, each padded to 64
 * bytes, `bytes` in all. Names that come again get a number. The file's head; the data
 * follows it. */
kiln_str kiln_package_params_head(kiln_arena *a, const kiln_package_tensor *tensor,
                                  size_t n, uint64_t bytes);

/* Steps beside the graph that they compute. */
typedef struct kiln_package_step {
    const char *name, *op;
    const char *kernel; /* symbol; NULL: a copy */
    const char *const *node;
    size_t n_nodes;
    const char *device;                 /* who does it; NULL: the host */
    const char *epilogue;               /* "bias, add, relu"; "": none */
    const char *layout_in, *layout_out; /* "NCHW16c"; NULL: there is none */
    /* Types of all that it reads and writes, as they lie (graph-text.md); NULL: not
     * known. */
    const char *const *in, *const *out;
    size_t n_in, n_out;
} kiln_package_step;

/* graph.json: nodes, values, types; constants without their data. */
kiln_str kiln_package_graph_json(kiln_arena *a, const kiln_graph *g,
                                 const kiln_package_step *step, size_t n);

/* The steps of an unpacked folder's graph.json, in the plan's order; their nodes are
 * left out. Members that a writer did not know are NULL: archives are older than what
 * tools ask of them. */
kiln_status kiln_package_steps_read(kiln_arena *a, const char *folder,
                                    const kiln_package_step **out, size_t *n,
                                    kiln_err *err);

/* An output as it must be, row-major. at NULL: the whole of it; else value is a list,
 * and element i belongs at at[i], ascending. bound: how far each element of value may
 * be off; NULL (archives of older kilns): by the manifest's tolerance. */
typedef struct kiln_package_expected {
    kiln_tensor value;
    const int64_t *at;
    const float *bound;
} kiln_package_expected;

/* selftest/inputs.safetensors and selftest/expected.safetensors: what the reference
 * makes of seeded inputs. Outputs of more than KILN_SELFTEST_SAMPLES elements are
 * sampled there: first, last, and one of each stretch of equal length, at a seeded
 * place of it, so that no run of elements that long is passed over. Elements that are
 * not to be compared are left out by `at`, which may leave none. */
enum { KILN_SELFTEST_SAMPLES = 4096 };
typedef struct kiln_package_selftest {
    kiln_str inputs, expected;
} kiln_package_selftest;
void kiln_package_selftest_make(kiln_arena *a, const kiln_tensor *in, size_t n_in,
                                const kiln_package_expected *out, size_t n_out,
                                kiln_package_selftest *result);

/* All that goes into an archive; borrowed until it is written. */
typedef struct kiln_package {
    kiln_package_facts facts;
    kiln_str plan, lib, graph;
    /* Code of further devices, one each: lib1.so, lib2.so, ... */
    const kiln_str *module;
    size_t n_modules; /* at most KILN_PACKAGE_MAX_MODULES */
    kiln_str params_head;
    const void *params; /* memory.params bytes, as plan.bin says */
    kiln_package_selftest selftest;
    int64_t time_s; /* of every entry: kiln_package_time */
} kiln_package;

/* SOURCE_DATE_EPOCH, or KILN_PACKAGE_TIME. KILN_ERR_ARG where it is no time. */
kiln_status kiln_package_time(int64_t *out, kiln_err *err);

/* Writes `path` whole or not at all. What would not be read again is refused. sha256
 * (may be NULL) receives the archive's. */
kiln_status kiln_package_write(const kiln_package *p, const char *path,
                               char sha256[KILN_SHA256_HEX], kiln_err *err);

/* One archive of packages that were written before, of one model: profile by profile,
 * the best first. Parameters of equal type and bytes are in it once. sha256 (may be
 * NULL) receives the archive's. KILN_ERR_PARSE: they do not fit one another. */
kiln_status kiln_package_write_variants(const char *const *archive, size_t n,
                                        int64_t time_s, const char *path,
                                        char sha256[KILN_SHA256_HEX], kiln_err *err);

/* ---- reading one ----------------------------------------------------------------- */

/* Manifest alone; nothing else is verified. */
kiln_status kiln_package_inspect(kiln_arena *a, const char *path,
                                 kiln_package_facts *out, kiln_err *err);
/* The same of a folder that was unpacked. */
kiln_status kiln_package_inspect_folder(kiln_arena *a, const char *folder,
                                        kiln_package_facts *out, kiln_err *err);
/* Of a folder that was unpacked: that nothing in it was changed since, but for what is
 * beside the manifest's entries, which nobody reads. */
kiln_status kiln_package_verify_folder(const char *folder, kiln_err *err);
/* Verifies everything, then makes `folder`, which must not exist. On failure nothing is
 * left behind. `out` may be NULL. */
kiln_status kiln_package_unpack(kiln_arena *a, const char *path, const char *folder,
                                kiln_package_facts *out, kiln_err *err);
/* The same for a folder that is soon removed: nobody waits for the disk. */
kiln_status kiln_package_unpack_for_now(kiln_arena *a, const char *path,
                                        const char *folder, kiln_package_facts *out,
                                        kiln_err *err);
/* The same without the disk: entries are files in memory until the arena is reset,
 * sealed once they are verified, and `folder` has links to them, which other processes
 * of this user can open. Where half of the memory that is available is less, or the
 * system has no such files, it is as the call above. */
kiln_status kiln_package_hold(kiln_arena *a, const char *path, const char *folder,
                              kiln_package_facts *out, kiln_err *err);
/* How an archive is opened. Where keys are required its bytes are read once, into
 * memory: what was checked is what is unpacked, whatever becomes of the file. */
typedef struct kiln_unpack_options {
    const kiln_keyring *keys; /* who must have signed it; NULL: nobody */
    bool is_for_now;          /* as kiln_package_unpack_for_now */
    bool is_held;             /* as kiln_package_hold */
    kiln_signed *says;        /* what the signature says, where keys are required */
} kiln_unpack_options;
kiln_status kiln_package_unpack_by(kiln_arena *a, const char *path, const char *folder,
                                   const kiln_unpack_options *o,
                                   kiln_package_facts *out, kiln_err *err);
/* The manifest of an archive with such a signature, and the SHA-256 of the very bytes
 * it was read from. */
kiln_status kiln_package_inspect_by(kiln_arena *a, const char *path,
                                    const kiln_keyring *keys, kiln_package_facts *out,
                                    char sha256[KILN_SHA256_HEX], kiln_err *err);
/* What a package runs by and reads, beside another of the same model. A file of
 * parameters may be shared: what counts of it is what the plan's constants name. */
typedef struct kiln_package_reads {
    bool same_plan;   /* but for where in the file parameters lie */
    bool same_params; /* the same bytes, constant by constant in the plan's order */
    /* Of the file, which constants name, with what pads them; each once. */
    uint64_t param_bytes, other_param_bytes;
} kiln_package_reads;
/* Of two folders that were unpacked, or of variants in them. */
kiln_status kiln_package_compare_reads(const char *folder, const char *other,
                                       kiln_package_reads *out, kiln_err *err);
/* Is this file, by its first bytes, such an archive? Or this folder one unpacked? */
bool kiln_package_is_archive(const char *path);
bool kiln_package_is_folder(const char *path);

/* Of an unpacked folder; tensors are in the arena. */
kiln_status kiln_package_selftest_read(kiln_arena *a, const char *folder,
                                       const kiln_package_facts *f, kiln_tensor *in,
                                       kiln_package_expected *out, kiln_err *err);

/* The manifest as lines for people. */
void kiln_package_print(kiln_buf *out, const kiln_package_facts *f);
/* manifest.json's bytes. */
void kiln_package_manifest(kiln_buf *out, const kiln_package_facts *f);

#endif
