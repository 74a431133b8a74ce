/* Ops files: one operator a line (docs/ops-file.md); and the lists that ship. */
#include "pipeline/kernels/kernels_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_FILE_BYTES = 4 * 1024 * 1024, MAX_LINES = 10000 };

/* clang-format off */
static const struct list {
    const char *name, *text;
} lists[] = {
    /* The distinct convolutions of ResNet-18 (He et al., CVPR'16), numbered as in TVM
     * (OSDI'18, table 2). */
    {"resnet18",
     "conv C1 224 3 64 7 2\n"    "conv C2 56 64 64 3 1\n"    "conv C3 56 64 64 1 1\n"
     "conv C4 56 64 128 3 2\n"   "conv C5 56 64 128 1 2\n"   "conv C6 28 128 128 3 1\n"
     "conv C7 28 128 256 3 2\n"  "conv C8 28 128 256 1 2\n"  "conv C9 14 256 256 3 1\n"
     "conv C10 14 256 512 3 2\n" "conv C11 14 256 512 1 2\n" "conv C12 7 512 512 3 1\n"},
    /* Depthwise and 1x1 convolutions of MobileNet-v1 (Howard et al., 2017, table 1). */
    {"mobilenet",
     "dw D1 112 32 32 3 1\n"     "dw D2 112 64 64 3 2\n"     "dw D3 56 128 128 3 1\n"
     "dw D4 56 128 128 3 2\n"    "dw D5 28 256 256 3 1\n"    "dw D6 28 256 256 3 2\n"
     "dw D7 14 512 512 3 1\n"    "dw D8 14 512 512 3 2\n"    "dw D9 7 1024 1024 3 1\n"
     "conv P1 112 32 64 1 1\n"   "conv P2 56 64 128 1 1\n"   "conv P3 56 128 128 1 1\n"
     "conv P4 28 128 256 1 1\n"  "conv P5 28 256 256 1 1\n"  "conv P6 14 256 512 1 1\n"
     "conv P7 14 512 512 1 1\n"  "conv P8 7 512 1024 1 1\n"  "conv P9 7 1024 1024 1 1\n"},
    /* A square one, a classifier's, and those of a BERT-base layer at 128 words. */
    {"gemm",
     "mm M1 1024 1024 1024\n"    "mm M2 1 1024 1000\n"       "mm M3 128 768 3072\n"
     "mm M4 128 3072 768\n"      "mm M5 128 768 768\n"},
    /* Square ones of halves, for matrix units. */
    {"gemm-f16",
     "mm H1 m=1024 k=1024 n=1024 dtype=f16\n"  "mm H2 m=2048 k=2048 n=2048 dtype=f16\n"
     "mm H4 m=4096 k=4096 n=4096 dtype=f16\n"  "mm H8 m=8192 k=8192 n=8192 dtype=f16\n"},
    /* What memory bounds: pooling, softmax and norms, transposes, argmax, resizing by the
     * nearest element and linearly (channels first, last, and to an odd size),
     * concatenation, gathering, and their like. */
    {"bandwidth",
     "max_pool MP1 in=f32[1,64,112,112] kernel=3,3 strides=2,2 pads=1,1,1,1\n"
     "max_pool MP2 in=f32[1,64,56,56] kernel=2,2 strides=2,2\n"
     "avg_pool AP in=f32[1,256,28,28] kernel=2,2 strides=2,2\n"
     "reduce_mean GP1 in=f32[1,512,7,7] axes=2,3\n"
     "reduce_mean GP2 in=f32[1,96,112,112] axes=2,3\n"
     "softmax SM1 in=f32[128,1000] axis=-1\n"
     "softmax SM2 in=f32[12,128,128] axis=-1\n"
     "softmax SM3 in=f32[1,21,8732] axis=1\n"
     "layer_norm LN in=f32[1,128,768] const=f32[768] const=f32[768] axis=-1\n"
     "transpose T1 in=f32[1,64,56,56] perm=0,2,3,1\n"
     "transpose T2 in=f32[1,56,56,64] perm=0,3,1,2\n"
     "transpose T3 in=f32[1,128,12,64] perm=0,2,1,3\n"
     "transpose T4 in=f32[1,12,128,64] perm=0,1,3,2\n"
     "transpose T5 in=f32[1,3,224,224] perm=0,2,3,1\n"
     "transpose T6 in=f32[1,224,224,3] perm=0,3,1,2\n"
     "transpose T7 in=f32[1,8732,21] perm=0,2,1\n"
     "argmax AM1 in=f32[128,1000] axis=-1\n"
     "argmax AM2 in=f32[1,21,128,128] axis=1\n"
     "argmax AM3 in=f32[1,128,128,21] axis=3\n"
     "resize RN1 in=f32[1,64,32,32] sizes=1,64,64,64 scales=1,1,2,2 mode=nearest coordinates=asymmetric rounding=floor\n"
     "resize RN2 in=f32[1,32,32,64] sizes=1,64,64,64 scales=1,2,2,1 mode=nearest coordinates=asymmetric rounding=floor\n"
     "resize RL1 in=f32[1,64,32,32] sizes=1,64,64,64 scales=1,1,2,2 mode=linear coordinates=half_pixel\n"
     "resize RL2 in=f32[1,32,32,64] sizes=1,64,64,64 scales=1,2,2,1 mode=linear coordinates=half_pixel\n"
     "resize RL3 in=f32[1,21,33,33] sizes=1,21,257,257 scales=1,1,7.8,7.8 mode=linear coordinates=align_corners\n"
     "concat CC1 in=f32[1,64,56,56] in=f32[1,32,56,56] axis=1\n"
     "concat CC2 in=f32[1,56,56,64] in=f32[1,56,56,32] axis=3\n"
     "concat CC3 in=f32[1,56,56,33] in=f32[1,56,56,7] axis=3\n"
     "gather GA1 const=f32[30522,768] in=i64[128] axis=0\n"
     "gather GA2 const=f32[1000,64] in=i32[4096] axis=0\n"
     "gather GA3 in=f32[128,1000] in=i32[200] axis=1\n"
     "slice SL in=f32[1,64,58,58] starts=0,0,1,1 steps=1,1,1,1 sizes=1,64,56,56\n"
     "pad PD in=f32[1,64,56,56] pads=0,0,1,1,0,0,1,1\n"
     "add AD in=f32[1,256,56,56] in=f32[1,256,56,56]\n"},
};
/* clang-format on */

const char *kiln_op_list_at(int i) {
    return i >= 0 && i < (int)(sizeof lists / sizeof lists[0]) ? lists[i].name : NULL;
}

/* ---- lines ----------------------------------------------------------------------- */

bool kiln_op_word(kiln_str *rest, kiln_str *word) {
    while (rest->n > 0 && (rest->p[0] == ' ' || rest->p[0] == '\t')) {
        rest->p++;
        rest->n--;
    }
    size_t n = 0;
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
        n++;
    *word = (kiln_str){rest->p, n};
    rest->p += n;
    rest->n -= n;
    return n > 0;
}

static kiln_status add_line(kiln_arena *a, kiln_str text, const char *where,
                            kiln_op_lines *out, kiln_map *names, kiln_err *err) {
    kiln_str rest = text, kind, name;
    if (!kiln_op_word(&rest, &kind) || !kiln_op_word(&rest, &name))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s: a line is 'KIND NAME key=value...', this one has no name",
                         where);
    if (memchr(name.p, '=', name.n) != NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s: a name must stand behind the kind '%.*s', is '%.*s'",
                         where, KILN_STR_ARG(kind), KILN_STR_ARG(name));
    if (!kiln_map_set(a, names, name, out))
        return kiln_fail(err, KILN_ERR_PARSE, "%s: '%.*s' is the name of another line",
                         where, KILN_STR_ARG(name));
    if (out->list.n == MAX_LINES)
        return kiln_fail(err, KILN_ERR_LIMIT, "%s: more than %d operators", where,
                         MAX_LINES);
    const kiln_op_line line = {
        .name = kiln_str_dupv(a, name), .text = kiln_str_dupv(a, text), .where = where};
    kiln_vec_push(a, &out->list, line);
    return KILN_OK;
}

static kiln_status add_lines(kiln_arena *a, kiln_str text, const char *source,
                             kiln_op_lines *out, kiln_err *err) {
    kiln_map names = {.n_slots = 0};
    kiln_str line;
    for (int number = 1; kiln_str_cut(&text, '\n', &line); number++) {
        const char *comment = memchr(line.p, '#', line.n);
        if (comment != NULL)
            line.n = (size_t)(comment - line.p);
        line = kiln_str_trim(line);
        if (line.n > 0)
            KILN_TRY(add_line(a, line, kiln_format(a, "%s:%d", source, number), out,
                              &names, err));
    }
    if (out->list.n == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: no operator in it", source);
    return KILN_OK;
}

static kiln_status no_such_list(kiln_arena *a, const char *source, kiln_err *err) {
    kiln_buf names;
    kiln_buf_init(&names, a);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        kiln_buf_printf(&names, "%s%s", i > 0 ? ", " : "", lists[i].name);
    if (err != NULL)
        kiln_err_clear(err);
    return kiln_fail(err, KILN_ERR_MISSING,
                     "'%s' is no file and no list of operators that ships; these are: "
                     "%s",
                     kiln_str_printable(a, kiln_str_from(source), 80), names.p);
}

kiln_status kiln_op_lines_read(kiln_arena *a, const char *source, kiln_op_lines *out,
                               kiln_err *err) {
    kiln_op_lines lines = {.list = {.n = 0}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (strcmp(lists[i].name, source) == 0) {
            KILN_TRY(add_lines(a, kiln_str_from(lists[i].text), source, &lines, err));
            *out = lines;
            return KILN_OK;
        }
    kiln_str text;
    const kiln_status st = kiln_file_map(a, source, MAX_FILE_BYTES, &text, err);
    if (st == KILN_ERR_MISSING)
        return no_such_list(a, source, err);
    KILN_TRY(st);
    KILN_TRY(add_lines(a, text, source, &lines, err));
    *out = lines;
    return KILN_OK;
}

kiln_status kiln_op_line_of(kiln_arena *a, const char *text, kiln_op_line *out,
                            kiln_err *err) {
    kiln_op_lines lines = {.list = {.n = 0}};
    kiln_map names = {.n_slots = 0};
    KILN_TRY(
        add_line(a, kiln_str_trim(kiln_str_from(text)), "--op", &lines, &names, err));
    *out = lines.list.v[0];
    return KILN_OK;
}
