/* Pickles as torch writes them, read without running any of it: Python's protocols 2 to
 * 4, of which every opcode that makes data. What a pickle would call is kept as an
 * object: the name of a class and its arguments.
 *
 *   memory  values lie in the arena, texts are views into `bytes`
 *   limits  64 MiB, KILN_PICKLE_MAX_DEPTH values inside each other; no value holds
 *           itself, so whoever walks them needs no bound of its own on depth. One value
 *           may be held by many: a walk over all paths is not bounded
 *   source  Python's pickletools.py, "The pickle opcodes"; torch/csrc/jit/serialization/
 *           pickler.cpp */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_PICKLE_H
#define KILN_COMPILER_FRONTEND_PYTORCH_PICKLE_H

#include "compiler/frontend/frontend.h"

enum { KILN_PICKLE_MAX_DEPTH = 400 };

typedef enum kiln_pickle_kind {
    KILN_PICKLE_NONE,
    KILN_PICKLE_BOOL,   /* i */
    KILN_PICKLE_INT,    /* i */
    KILN_PICKLE_FLOAT,  /* f */
    KILN_PICKLE_STR,    /* s */
    KILN_PICKLE_BYTES,  /* s */
    KILN_PICKLE_TUPLE,  /* item */
    KILN_PICKLE_LIST,   /* item */
    KILN_PICKLE_DICT,   /* item: keys and values by turns; also an OrderedDict */
    KILN_PICKLE_GLOBAL, /* module, s: a class or function, named only */
    KILN_PICKLE_OBJECT, /* module, s: what it is of; args, state, item (as a dict's or
                           list's, where it is filled like one) */
    KILN_PICKLE_STORAGE /* args: a persistent id, ('storage', class, key, ...) */
} kiln_pickle_kind;

typedef struct kiln_pickle_value kiln_pickle_value;
struct kiln_pickle_value {
    kiln_pickle_kind kind;
    uint16_t height; /* of the tree below it: set when all is read */
    bool is_open;    /* while that is found out */
    int64_t i;
    double f;
    kiln_str module, s;
    KILN_VEC(const kiln_pickle_value *) item;
    const kiln_pickle_value *args;  /* OBJECT: a tuple, STORAGE: anything; else NULL */
    const kiln_pickle_value *state; /* OBJECT: of BUILD; NULL: none */
};

/* `where` ("net/data.pkl") begins messages. KILN_ERR_UNSUPPORTED names a class that is
 * neither torch's nor defined in the file, KILN_ERR_PARSE and KILN_ERR_LIMIT the byte. */
kiln_status kiln_pickle_read(kiln_arena *a, kiln_str bytes, const char *where,
                             const kiln_pickle_value **out, kiln_err *err);

/* The same of pickles one behind the other: that from *at on, which becomes its end. */
kiln_status kiln_pickle_read_next(kiln_arena *a, kiln_str bytes, const char *where,
                                  size_t *at, const kiln_pickle_value **out,
                                  kiln_err *err);

bool kiln_pickle_is_object(const kiln_pickle_value *v, const char *module,
                           const char *name);
/* Of a DICT, or of an OBJECT's state where that is one; NULL: it has none such. */
const kiln_pickle_value *kiln_pickle_get(const kiln_pickle_value *v, kiln_str key);

/* ---- tensors (pickle_tensor.c) ---------------------------------------------------- */

typedef struct kiln_pickle_tensor {
    kiln_type type;
    int64_t stride[KILN_MAX_RANK], offset; /* in elements */
    kiln_str key;                          /* of its storage: NAME/data/KEY */
    int64_t n_stored;                      /* elements of that */
    bool is_contiguous;
} kiln_pickle_tensor;

/* Is it what torch rebuilds a tensor or parameter from? */
bool kiln_pickle_is_tensor(const kiln_pickle_value *v);
/* Quantized, sparse and complex tensors are refused by name; all numbers are checked
 * against each other, and none against the storage's bytes. */
kiln_status kiln_pickle_tensor_of(const kiln_pickle_value *v, kiln_pickle_tensor *out,
                                  kiln_err *err);
/* KILN_ERR_PARSE: its last element lies behind its storage's n_stored. */
kiln_status kiln_pickle_tensor_check(const kiln_pickle_tensor *t, kiln_err *err);
/* Its elements, row-major: a view of `storage` where it is contiguous, else a copy in the
 * arena; charge kiln_type_bytes for that first. KILN_ERR_PARSE: the storage is shorter. */
kiln_status kiln_pickle_tensor_data(kiln_arena *a, const kiln_pickle_tensor *t,
                                    kiln_str storage, const void **out, kiln_err *err);

#endif
