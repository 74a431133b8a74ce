/* Records of AutoTVM, version 0.2 of its log (tvm.autotvm.record):
 *
 *     {"input": [target, task, [argument, ...], {}],
 *      "config": {"index": 5, "code_hash": null, "entity": [[knob, kind, value], ...]},
 *      "result": [[seconds, ...], error, seconds in all, time], "version": 0.2}
 *
 * An argument of kind ["TENSOR", [dims], dtype] is a tensor. Knobs of kind "sp" are the
 * factors of a split, outermost first (-1: the rest), of kind "ot" one value.
 *
 * Tasks: conv2d_NCHWc.x86 (NCHW and OIHW, or both blocked already), and dense_pack.x86
 * and dense_nopack.x86 ([m, k] times [n, k], the second one possibly in panels). */
#include "pipeline/tune/hints.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { MAX_RANK = 6 };

typedef struct tensor {
    int rank;
    int64_t dim[MAX_RANK];
    bool is_f32;
} tensor;

static bool read_tensor(const kiln_json *v, tensor *out) {
    const kiln_json *dims = kiln_json_at(v, 1);
    *out = (tensor){.rank = (int)kiln_json_size(dims)};
    if (strcmp(kiln_json_string(kiln_json_at(v, 0), ""), "TENSOR") != 0 ||
        kiln_json_size(dims) < 1 || kiln_json_size(dims) > MAX_RANK)
        return false;
    out->is_f32 = strcmp(kiln_json_string(kiln_json_at(v, 2), ""), "float32") == 0;
    int i = 0;
    for (const kiln_json *d = kiln_json_first(dims); d != NULL; d = kiln_json_next(d))
        if ((out->dim[i++] = kiln_hint_count(d)) == 0)
            return false;
    return true;
}

/* n numbers of at least `least`, or with is_pair half as many, each for two. */
static bool read_numbers(const kiln_json *v, int64_t least, bool is_pair, int64_t *out,
                         int n) {
    const size_t size = kiln_json_size(v);
    const bool halves = is_pair && size * 2 == (size_t)n;
    if (!kiln_json_is_array(v) || (size != (size_t)n && !halves))
        return false;
    for (int i = 0; i < n; i++) {
        const kiln_json *x = kiln_json_at(v, (size_t)(halves ? i % (n / 2) : i));
        if (!kiln_json_i64(x, &out[i]) || out[i] < least || out[i] > INT32_MAX)
            return false;
    }
    return true;
}

/* ---- tasks ----------------------------------------------------------------------- */

static int64_t positions(int64_t extent, int64_t kernel, int64_t pad, int64_t stride,
                         int64_t dilation) {
    const int64_t left = extent + pad - ((kernel - 1) * dilation + 1);
    return left < 0 ? 0 : left / stride + 1;
}

static kiln_hint_verdict read_conv(const kiln_json *args, kiln_tune_hint *h,
                                   const char **why) {
    tensor x, k;
    int64_t stride[2], pad[4], dilation[2];
    *why = "its arguments are not those of a convolution";
    if (!read_tensor(kiln_json_at(args, 0), &x) ||
        !read_tensor(kiln_json_at(args, 1), &k) ||
        !read_numbers(kiln_json_at(args, 2), 1, false, stride, 2) ||
        !read_numbers(kiln_json_at(args, 3), 0, true, pad, 4) ||
        !read_numbers(kiln_json_at(args, 4), 1, false, dilation, 2))
        return KILN_HINT_BAD;
    if ((x.rank != 4 && x.rank != 5) || (k.rank != 4 && k.rank != 6))
        return KILN_HINT_BAD;
    const int64_t c = x.dim[1] * (x.rank == 5 ? x.dim[4] : 1);
    h->kind = KILN_HINT_CONV;
    h->extent[KILN_HINT_IMAGES] = x.dim[0];
    h->extent[KILN_HINT_OUT] = k.dim[0] * (k.rank == 6 ? k.dim[5] : 1);
    h->extent[KILN_HINT_IN] = k.dim[1] * (k.rank == 6 ? k.dim[4] : 1);
    h->extent[KILN_HINT_KERNEL_ROWS] = k.dim[2];
    h->extent[KILN_HINT_KERNEL_COLUMNS] = k.dim[3];
    h->extent[KILN_HINT_ROWS] =
        positions(x.dim[2], k.dim[2], pad[0] + pad[2], stride[0], dilation[0]);
    h->extent[KILN_HINT_COLUMNS] =
        positions(x.dim[3], k.dim[3], pad[1] + pad[3], stride[1], dilation[1]);
    if (h->extent[KILN_HINT_ROWS] == 0 || h->extent[KILN_HINT_COLUMNS] == 0)
        return KILN_HINT_BAD;
    return x.is_f32 && k.is_f32 && c == h->extent[KILN_HINT_IN] ? KILN_HINT_TAKEN
                                                                : KILN_HINT_STRANGE;
}

static kiln_hint_verdict read_dense(const kiln_json *args, kiln_tune_hint *h,
                                    const char **why) {
    tensor x, w;
    *why = "its arguments are not those of a matrix product";
    if (!read_tensor(kiln_json_at(args, 0), &x) ||
        !read_tensor(kiln_json_at(args, 1), &w) || x.rank != 2 ||
        (w.rank != 2 && w.rank != 3) || w.dim[1] != x.dim[1])
        return KILN_HINT_BAD;
    h->kind = KILN_HINT_PRODUCT;
    h->extent[KILN_HINT_M] = x.dim[0];
    h->extent[KILN_HINT_N] = w.dim[0] * (w.rank == 3 ? w.dim[2] : 1);
    h->extent[KILN_HINT_K] = x.dim[1];
    return x.is_f32 && w.is_f32 ? KILN_HINT_TAKEN : KILN_HINT_STRANGE;
}

/* ---- knobs ----------------------------------------------------------------------- */

typedef struct knob {
    const char *name;
    int loop; /* that it splits */
} knob;

typedef struct task {
    const char *name;
    kiln_hint_verdict (*read)(const kiln_json *args, kiln_tune_hint *h,
                              const char **why);
    knob knob[5]; /* the rest: no name */
} task;

static const task tasks[] = {
    {"conv2d_NCHWc.x86",
     read_conv,
     {{"tile_ic", KILN_HINT_IN},
      {"tile_oc", KILN_HINT_OUT},
      {"tile_oh", KILN_HINT_ROWS},
      {"tile_ow", KILN_HINT_COLUMNS}}},
    {"dense_pack.x86",
     read_dense,
     {{"tile_y", KILN_HINT_M}, {"tile_x", KILN_HINT_N}, {"tile_k", KILN_HINT_K}}},
    {"dense_nopack.x86",
     read_dense,
     {{"tile_y", KILN_HINT_M}, {"tile_x", KILN_HINT_N}, {"tile_k", KILN_HINT_K}}},
};

/* Its innermost part, and how many of them the next one has, where that is not the
 * rest. */
static bool read_split(const kiln_json *v, int64_t *tile, int64_t *block) {
    const size_t n = kiln_json_is_array(v) ? kiln_json_size(v) : 1;
    if (n < 1 || n > MAX_RANK)
        return false;
    *tile = kiln_hint_count(kiln_json_is_array(v) ? kiln_json_at(v, n - 1) : v);
    *block = n > 2 ? kiln_hint_count(kiln_json_at(v, n - 2)) : 0;
    return *tile > 0 && (n <= 2 || *block > 0);
}

static bool read_entity(const task *t, const kiln_json *entity, kiln_tune_hint *h) {
    if (!kiln_json_is_array(entity))
        return false;
    for (const kiln_json *e = kiln_json_first(entity); e != NULL;
         e = kiln_json_next(e)) {
        const char *name = kiln_json_string(kiln_json_at(e, 0), "");
        const kiln_json *value = kiln_json_at(e, 2);
        if (strcmp(name, "unroll_kw") == 0) {
            if (!kiln_json_is_bool(value))
                return false;
            h->unroll =
                kiln_json_bool(value, false) ? KILN_HINT_UNROLLS : KILN_HINT_LOOPS_ON;
        }
        for (const knob *k = t->knob; k->name != NULL; k++)
            if (strcmp(name, k->name) == 0 &&
                !read_split(value, &h->tile[k->loop], &h->block[k->loop]))
                return false;
    }
    return true;
}

kiln_hint_verdict kiln_hint_of_autotvm(kiln_arena *scratch, const kiln_json *record,
                                       kiln_tune_hint out[2], int *n,
                                       const char **name) {
    static const double version = 0.2;
    const kiln_json *input = kiln_json_get(record, "input");
    const char *of = kiln_json_string(kiln_json_at(input, 1), NULL);
    const task *t = NULL;
    kiln_tune_hint h = {.unroll = KILN_HINT_SAYS_NOTHING};
    *n = 0;
    *name = "its version is not 0.2";
    if (fabs(kiln_json_number(kiln_json_get(record, "version"), 0) - version) > 1e-9)
        return KILN_HINT_BAD;
    *name = "it names no task";
    if (of == NULL)
        return KILN_HINT_BAD;
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        if (strcasecmp(of, tasks[i].name) == 0)
            t = &tasks[i];
    *name = kiln_str_printable(scratch, kiln_str_from(of), 64);
    if (t == NULL)
        return KILN_HINT_STRANGE;
    const char *why = NULL, *task_name = *name;
    kiln_hint_verdict v =
        kiln_hint_seconds(kiln_json_get(record, "result"), &h.seconds, name);
    if (v != KILN_HINT_TAKEN)
        return v;
    v = t->read(kiln_json_at(input, 2), &h, &why);
    *name = v == KILN_HINT_BAD ? why : task_name;
    if (v != KILN_HINT_TAKEN)
        return v;
    *name = "its configuration's knobs are none";
    if (!read_entity(t, kiln_json_get(kiln_json_get(record, "config"), "entity"), &h))
        return KILN_HINT_BAD;
    out[(*n)++] = h;
    return KILN_HINT_TAKEN;
}
