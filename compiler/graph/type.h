/* Types: element type, static shape, layout, place, facts; and tensors, which are a
 * type and bytes.
 *
 * Text form: `f32[1,3,224,224]`, with whatever differs from the default behind it in
 * this order:
 *
 *   f32[1,64,56,56]{order=0231}          NHWC in memory
 *   f32[1,64,56,56]{block=1x16}          NCHW16c: axis 1 in blocks of 16, innermost
 *   f32[64,64,3,3]{block=1x16,0x16}      OIHW16i16o
 *   f32[8]{device=1,space=2}
 *   f32[1,20,7,7]{block=1x16,facts=tail_zero}
 */
#ifndef KILN_COMPILER_GRAPH_TYPE_H
#define KILN_COMPILER_GRAPH_TYPE_H

#include "base/base.h"

enum {
    KILN_MAX_RANK = 8, /* axes of a value; the deepest conformance test has 7 */
    KILN_MAX_BLOCKS =
        4, /* blocked axes of a layout; packed weights need 2, tensor units 4 */
};

/* Largest number of elements of one value: 2^40. Keeps every product of a shape with an
 * element size far inside int64_t. */
#define KILN_MAX_ELEMS ((int64_t)1 << 40)

typedef enum kiln_dtype {
    KILN_F32,
    KILN_F16,
    KILN_BF16,
    KILN_F64,
    KILN_I8,
    KILN_U8,
    KILN_I16,
    KILN_U16,
    KILN_I32,
    KILN_U32,
    KILN_I64,
    KILN_U64,
    KILN_BOOL, /* one byte, 0 or 1 */

    /* Low-bit types: stored, moved and converted, never computed with. Each element is
     * one byte, also of 4 and 2 bits: layouts, strides and generated code stay
     * byte-addressed. ONNX's packed nibbles are unpacked where a file is read. Floats
     * hold their code in the low bits (base/arithmetic/low_float.h, in its order),
     * integers their value, sign-extended. Tensor expressions and everything below them
     * see only kiln_dtype_stored(): u8, or i8 for i4 and i2. */
    KILN_F8E4M3FN,
    KILN_F8E4M3FNUZ,
    KILN_F8E5M2,
    KILN_F8E5M2FNUZ,
    KILN_F8E8M0,
    KILN_F4E2M1,
    KILN_I4,
    KILN_U4,
    KILN_I2,
    KILN_U2,
    KILN_N_DTYPES
} kiln_dtype;

/* Dtypes that switches treat alike: `case KILN_DTYPES_INT:` is a case for each of them. */
#define KILN_DTYPES_INT                                                                \
    KILN_I8:                                                                           \
    case KILN_U8:                                                                      \
    case KILN_I16:                                                                     \
    case KILN_U16:                                                                     \
    case KILN_I32:                                                                     \
    case KILN_U32:                                                                     \
    case KILN_I64:                                                                     \
    case KILN_U64
#define KILN_DTYPES_LOW_FLOAT                                                          \
    KILN_F8E4M3FN:                                                                     \
    case KILN_F8E4M3FNUZ:                                                              \
    case KILN_F8E5M2:                                                                  \
    case KILN_F8E5M2FNUZ:                                                              \
    case KILN_F8E8M0:                                                                  \
    case KILN_F4E2M1
#define KILN_DTYPES_LOW_INT                                                            \
    KILN_I4:                                                                           \
    case KILN_U4:                                                                      \
    case KILN_I2:                                                                      \
    case KILN_U2

/* Sets of dtypes, as bit masks: 1u << dtype. */
#define KILN_DT(dtype) (1u << (dtype))
enum {
    KILN_DT_FLOAT =
        KILN_DT(KILN_F32) | KILN_DT(KILN_F16) | KILN_DT(KILN_BF16) | KILN_DT(KILN_F64),
    KILN_DT_SIGNED =
        KILN_DT(KILN_I8) | KILN_DT(KILN_I16) | KILN_DT(KILN_I32) | KILN_DT(KILN_I64),
    KILN_DT_UNSIGNED =
        KILN_DT(KILN_U8) | KILN_DT(KILN_U16) | KILN_DT(KILN_U32) | KILN_DT(KILN_U64),
    KILN_DT_INT = KILN_DT_SIGNED | KILN_DT_UNSIGNED,
    KILN_DT_NUMBER = KILN_DT_FLOAT | KILN_DT_INT,
    KILN_DT_BOOL = KILN_DT(KILN_BOOL),
    KILN_DT_ANY = KILN_DT_NUMBER | KILN_DT_BOOL,
    KILN_DT_LOW_FLOAT = KILN_DT(KILN_F8E4M3FN) | KILN_DT(KILN_F8E4M3FNUZ) |
                        KILN_DT(KILN_F8E5M2) | KILN_DT(KILN_F8E5M2FNUZ) |
                        KILN_DT(KILN_F8E8M0) | KILN_DT(KILN_F4E2M1),
    KILN_DT_LOW_INT =
        KILN_DT(KILN_I4) | KILN_DT(KILN_U4) | KILN_DT(KILN_I2) | KILN_DT(KILN_U2),
    KILN_DT_LOW = KILN_DT_LOW_FLOAT | KILN_DT_LOW_INT,
    KILN_DT_STORED = KILN_DT_ANY | KILN_DT_LOW, /* what operators may move */
};

typedef struct kiln_dtype_info {
    const char *name;  /* "f32": spelling in graph text and messages */
    const char *numpy; /* .npy descriptor, "<f4"; NULL when numpy has none. Low-bit
                          types: that of the bytes they are stored in */
    size_t bytes;      /* of one element in memory */
    bool is_float;
    bool is_signed;    /* floats and signed integers */
    int mantissa_bits; /* floats: with the hidden bit (f32 24); else 0 */
    int64_t min_i,
        max_i; /* integers and bool: range (u64: max_i is INT64_MAX, see wide.h) */
} kiln_dtype_info;

const kiln_dtype_info *kiln_dtype_get(kiln_dtype dtype);
const char *kiln_dtype_name(kiln_dtype dtype);
size_t kiln_dtype_bytes(kiln_dtype dtype);
bool kiln_dtype_is_float(kiln_dtype dtype);
bool kiln_dtype_is_in(kiln_dtype dtype, unsigned set);
bool kiln_dtype_parse(kiln_str name, kiln_dtype *out);
/* What the bytes of an element are to whoever only moves or computes with them: u8 or
 * i8 for low-bit types, else the dtype itself. */
kiln_dtype kiln_dtype_stored(kiln_dtype dtype);
/* Bits of an element: 8 * bytes, but for types of 4 and 2 bits; 1 for bool. */
int kiln_dtype_bits(kiln_dtype dtype);
/* The format of a float of 8 or 4 bits. */
kiln_low_format kiln_dtype_low_format(kiln_dtype dtype);
/* For messages that refuse a dtype: what to do about a low-bit one; "" of others. */
const char *kiln_dtype_remedy(kiln_dtype dtype);
/* "f32, f16 or i8": for messages. */
char *kiln_dtype_set_text(kiln_arena *a, unsigned set);

/* Where the elements of a logical shape lie. Zeroed: row-major. `order` names the
 * logical axes from slowest to fastest; each block then adds an inner axis of `size`
 * elements, fastest last, and the blocked axis's outer extent is ceil(dim / product of
 * its blocks): lanes past the end are tail lanes. After NeoCPU (ATC'19, section 3.1):
 * NCHW[x]c and OIHW[x]i[y]o.
 */
typedef struct kiln_block {
    uint8_t axis;
    int32_t size;
} kiln_block;

typedef struct kiln_layout {
    uint8_t n_order; /* 0: identity */
    uint8_t order[KILN_MAX_RANK];
    uint8_t n_blocks;
    kiln_block block[KILN_MAX_BLOCKS];
} kiln_layout;

bool kiln_layout_is_plain(const kiln_layout *l);
bool kiln_layout_eq(const kiln_layout *a, const kiln_layout *b);
/* For people: "NCHW16c", "NHWC". Axes are called N C H W where there are four, N C W of
 * three, N C D H W of five, N C of two, C of one, else A B C ...; a scalar is
 * "scalar". In the arena. */
const char *kiln_layout_name(kiln_arena *a, int rank, const kiln_layout *l);
/* NCHW[x]c: x; 0 for any other layout. */
int64_t kiln_layout_channel_block(const kiln_layout *l);

/* Where a value lives. Zeroed: the first device, its main memory. */
typedef struct kiln_place {
    uint8_t device;
    uint8_t space; /* memory scope that the target declares; 0: main */
} kiln_place;

/* What is known about the contents; an operator that breaks a fact drops it. */
enum {
    KILN_FACT_TAIL_ZERO = 1u << 0, /* tail lanes of blocked axes are zero */
};

typedef struct kiln_type {
    kiln_dtype dtype;
    int rank;
    int64_t dim[KILN_MAX_RANK]; /* logical shape; entries past rank are 0 */
    kiln_layout layout;
    kiln_place place;
    unsigned facts;
} kiln_type;

/* Row-major, main memory, no facts. rank <= KILN_MAX_RANK. */
kiln_type kiln_type_make(kiln_dtype dtype, int rank, const int64_t *dim);
kiln_type kiln_type_scalar(kiln_dtype dtype);
/* Everything equal: dtype, shape, layout, place, facts. */
bool kiln_type_eq(const kiln_type *a, const kiln_type *b);
bool kiln_type_same_shape(const kiln_type *a, const kiln_type *b);
/* Are there lanes past the end of the axis, of any axis? */
bool kiln_type_has_tail(const kiln_type *t, int axis);
bool kiln_type_has_tails(const kiln_type *t);
/* Does each element, by its row-major index, lie in the same place in both, with the
 * same tail lanes between? Shapes may differ: axes of one element say nothing, and
 * neighbours may be one axis. */
bool kiln_type_same_places(const kiln_type *x, const kiln_type *y);
/* Logical elements; 1 for a scalar, 0 when a dim is 0. */
int64_t kiln_type_elems(const kiln_type *t);
/* Elements in memory, tail lanes included; and bytes. */
int64_t kiln_type_stored_elems(const kiln_type *t);
int64_t kiln_type_bytes(const kiln_type *t);
/* KILN_ERR_SHAPE / KILN_ERR_LIMIT with a reason: negative dims, rank, elements, layout
 * axes. */
kiln_status kiln_type_check(const kiln_type *t, kiln_err *err);
/* Text form, in the arena. */
char *kiln_type_text(kiln_arena *a, const kiln_type *t);
/* "[1,3,224,224]" */
char *kiln_shape_text(kiln_arena *a, int rank, const int64_t *dim);
/* Reads one type from the front of *rest. */
kiln_status kiln_type_parse(kiln_str *rest, kiln_type *out, kiln_err *err);

/* Row-major strides in elements of a shape. */
void kiln_strides(int rank, const int64_t *dim, int64_t *stride);
/* Numpy broadcasting (aligned at the last axis; 1 stretches). Writes rank and dims;
 * KILN_ERR_SHAPE names both shapes. */
kiln_status kiln_broadcast(const kiln_type *a, const kiln_type *b, int *rank,
                           int64_t *dim, kiln_err *err);
/* axis in [-rank, rank) to [0, rank); KILN_ERR_SHAPE: "axis 4 is outside [-4, 4)". */
kiln_status kiln_axis_normalize(int64_t axis, int rank, int *out, kiln_err *err);

/* A type and its bytes in the type's layout, little-endian. Owner: whoever made it. */
typedef struct kiln_tensor {
    kiln_type type;
    void *data; /* kiln_type_bytes(&type) bytes, 64-byte aligned when made here */
} kiln_tensor;

kiln_tensor kiln_tensor_new(kiln_arena *a, const kiln_type *t); /* zeroed */
/* Seeded random elements in row-major order: floats uniform in [-1, 1), integers small,
 * bool fair. Of two types of one dtype, the smaller has the larger's first elements. */
kiln_tensor kiln_tensor_random(kiln_arena *a, const kiln_type *t, uint64_t seed);

/* Files of numpy hold low-bit types as u8, i4 and i2 as i8. Makes such a tensor one of
 * dtype `want`; leaves alone what is no low-bit type or not stored so (who compares the
 * types refuses it). KILN_ERR_SHAPE: an element outside of the type's 4 or 2 bits. */
kiln_status kiln_tensor_from_bytes(kiln_tensor *t, kiln_dtype want, kiln_err *err);

/* Row-major elements to the type's layout, tail lanes zero, and back. `packed` has
 * kiln_type_bytes(t) bytes, `plain` kiln_type_elems(t) elements; they do not overlap.
 */
void kiln_layout_pack(const kiln_type *t, const void *plain, void *packed);
void kiln_layout_unpack(const kiln_type *t, const void *packed, void *plain);

/* Wide form: every row-major element as double (floats) or int64_t (integers and bool;
 * u64 as the same 64 bits). This is what the reference computes in: each operator is
 * written once for double and, where it makes sense, once for int64_t. */
typedef struct kiln_wide {
    kiln_type type;
    double *f;  /* set when the dtype is a float, else NULL */
    int64_t *i; /* set when it is not */
} kiln_wide;

/* Storage for kiln_type_elems(t) elements, not zeroed. */
kiln_wide kiln_wide_new(kiln_arena *a, const kiln_type *t);
/* Native bytes (plain layout) to wide. */
void kiln_widen(const kiln_type *t, const void *data, kiln_wide *out);
/* Wide to native bytes: rounds to nearest even once, wraps integers modulo 2^bits, bool
 * is != 0. */
void kiln_narrow(const kiln_wide *w, void *data);
/* One element, whose dtype is a float (f64) or is none (i64): as kiln_widen and
 * kiln_narrow have it. */
double kiln_load_f64(kiln_dtype dtype, const void *data);
int64_t kiln_load_i64(kiln_dtype dtype, const void *data);
void kiln_store_f64(kiln_dtype dtype, double v, void *data);
void kiln_store_i64(kiln_dtype dtype, int64_t v, void *data);
/* Rounds in place to what the dtype can hold: the same as narrow and widen. */
void kiln_wide_round(kiln_wide *w);
/* One integer wrapped to the dtype's range, as a native cast would. */
int64_t kiln_wrap_i64(kiln_dtype dtype, int64_t v);
/* An integer (u64 as its bits) on its way to a float dtype: a double that rounds to it
 * as the integer itself does. */
double kiln_f64_from_int(kiln_dtype from, kiln_dtype to, int64_t v);
/* One double rounded to a float dtype. */
double kiln_round_f64(kiln_dtype dtype, double v);

#endif
