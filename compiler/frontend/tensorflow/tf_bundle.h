/* Variables beside a SavedModel: variables/variables.index, a table of names, and shards
 * of bytes. Source: tensor_bundle.h, tensor_bundle.proto, and the table format of
 * LevelDB ("table_format.md"). The checksums of variables are verified, the index's own
 * are not. */
#ifndef KILN_COMPILER_FRONTEND_TENSORFLOW_TF_BUNDLE_H
#define KILN_COMPILER_FRONTEND_TENSORFLOW_TF_BUNDLE_H

#include "compiler/frontend/protobuf.h"
#include "compiler/frontend/tensorflow/tf_model.h"

typedef struct kiln_tf_entry { /* BundleEntryProto */
    int64_t dtype;
    kiln_tf_shape shape;
    int64_t shard, offset, size;
    uint32_t checksum; /* masked; 0: none was written */
    size_t n_slices;
} kiln_tf_entry;

typedef struct kiln_tf_bundle {
    const char *dir;   /* of the model; NULL: no files may be looked for */
    const char *model; /* its file, which may be a link; or NULL */
    bool is_open;
    kiln_map entries; /* key -> kiln_tf_entry */
    kiln_map keys;    /* a variable's name -> kiln_str, its key, as the objects say */
    int64_t n_shards;
    kiln_str *shard;              /* mapped when first asked for */
    KILN_VEC(const char *) files; /* read: beside the model, in the order of reading */
    KILN_VEC(kiln_str) bytes;     /* parallel */
} kiln_tf_bundle;

/* Reads the index, once. Made in `a`, with the mapped files. */
kiln_status kiln_tf_bundle_open(kiln_arena *a, kiln_tf_bundle *b, kiln_err *err);
/* The entry of the variable of this name; NULL: there is none. */
const kiln_tf_entry *kiln_tf_bundle_find(const kiln_tf_bundle *b, kiln_str name);
/* Its bytes, as they were saved: KILN_ERR_PARSE where their checksum is another. */
kiln_status kiln_tf_bundle_bytes(kiln_arena *a, kiln_tf_bundle *b,
                                 const kiln_tf_entry *e, kiln_str *out, kiln_err *err);
/* "variables/variables.data-00000-of-00001" */
const char *kiln_tf_bundle_shard(kiln_arena *a, int64_t i, int64_t n);
/* TensorShapeProto: tensorflow_model.c */
extern const kiln_pb_message kiln_tf_shape_message;

#endif
