/* The Arm Compute Library: kiln's side of it. The library is C++ and for Arm alone, so
 * it is in a program of its own for AArch64 (armcl_board.cpp), which this one starts,
 * by an emulator where this machine is another, and tells what to compute in plain
 * records (armcl_call.h). That program's clock times the runs. */
#include "pipeline/baselines/library/library.h"

#include <string.h>
#include <sys/utsname.h>

#include "pipeline/baselines/library/armcl_call.h"
#include "pipeline/talk/talk.h"

static const int64_t limit_ms = 600000;
static const char emulator[] = "qemu-aarch64";

typedef struct armcl {
    const kiln_library_op *op;
    kiln_arena *arena;
    kiln_talk *talk;
    kiln_armcl_call call;
} armcl;

static const char *board; /* the program's file */

static kiln_status none_such(kiln_err *err, const char *what) {
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "no such operator in the Arm Compute Library: %s", what);
}

/* ---- the other program ----------------------------------------------------------- */

static bool is_native(void) {
    struct utsname u;
    return uname(&u) == 0 && strcmp(u.machine, "aarch64") == 0;
}

/* The program, behind the emulator where it takes one. */
static kiln_status command(kiln_arena *a, const char **argv, kiln_err *err) {
    int n = 0;
    if (!is_native()) {
        argv[n++] = kiln_program_in_path(a, emulator);
        if (argv[0] == NULL)
            return kiln_fail(err, KILN_ERR_IO,
                             "%s is not in PATH: install the package qemu-user",
                             emulator);
    }
    argv[n++] = board;
    argv[n] = NULL;
    return KILN_OK;
}

static kiln_status open_board(const char *file, kiln_err *err) {
    if (!kiln_file_exists(file))
        return kiln_fail(err, KILN_ERR_IO, "there is no '%s'", file);
    board = file;
    return KILN_OK;
}

static int64_t deadline(void) { return kiln_now_ns() + limit_ms * 1000000; }

static kiln_status tell(const armcl *m, const void *p, size_t n, kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_status st =
        kiln_talk_send(m->talk, &scratch, (kiln_str){p, n}, deadline(), err);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status hear(const armcl *m, void *to, size_t n, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_status st = KILN_OK;
    char *p = to;
    size_t got = 0;
    for (; st == KILN_OK && n > 0; n -= got, p += got)
        st = kiln_talk_read(m->talk, &scratch, p, n, deadline(), &got, err);
    kiln_arena_fini(&scratch);
    return st;
}

/* What the program prints; the emulator's part in it is said. */
static const char *version(kiln_arena *a) {
    const char *argv[4];
    kiln_process_result r;
    if (command(a, argv, NULL) != KILN_OK)
        return "";
    const size_t n = argv[1] != NULL ? 2 : 1;
    argv[n] = "--version";
    argv[n + 1] = NULL;
    const kiln_process_options o = {.argv = argv, .time_limit_ms = limit_ms};
    if (kiln_process_run(a, &o, &r, NULL) != KILN_OK || r.end != KILN_PROCESS_EXITED ||
        r.code != 0)
        return "";
    return kiln_format(a, "%.*s%s", KILN_STR_ARG(kiln_str_trim(r.out)),
                       is_native() ? "" : " (emulated)");
}

/* ---- tensors --------------------------------------------------------------------- */

/* [n, c, hw] to [n, hw, c]; with c and hw exchanged, back. */
static void exchange(const float *from, float *to, int64_t n, int64_t c, int64_t hw) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < c; j++)
            for (int64_t k = 0; k < hw; k++)
                to[(i * hw + k) * c + j] = from[(i * c + j) * hw + k];
}

static kiln_status tell_exchanged(const armcl *m, const kiln_tensor *t, int64_t n,
                                  int64_t c, int64_t hw, kiln_err *err) {
    float *v = kiln_array(m->arena, float, n *c *hw);
    exchange(t->data, v, n, c, hw);
    return tell(m, v, (size_t)(n * c * hw) * sizeof *v, err);
}

static bool is_image(const armcl *m) { return m->call.kind != KILN_ARMCL_PRODUCT; }

static kiln_status tell_activation(const armcl *m, int tensor, kiln_err *err) {
    const kiln_tensor *t = &m->op->in[tensor].value;
    const int64_t *dim = t->type.dim;
    if (!is_image(m))
        return tell(m, t->data, (size_t)kiln_type_elems(&t->type) * sizeof(float), err);
    return tell_exchanged(m, t, dim[0], dim[1], dim[2] * dim[3], err);
}

static kiln_status tell_weights(const armcl *m, kiln_err *err) {
    const kiln_tensor *t = &m->op->in[1].value;
    const int64_t *dim = t->type.dim;
    switch ((kiln_armcl_kind)m->call.kind) {
    case KILN_ARMCL_CONV:
        return tell_exchanged(m, t, dim[0], dim[1], dim[2] * dim[3], err);
    case KILN_ARMCL_DEPTHWISE: /* [o, 1, kh, kw] to [kh, kw, o] */
        return tell_exchanged(m, t, 1, dim[0], dim[2] * dim[3], err);
    case KILN_ARMCL_PRODUCT:
        break;
    }
    if (m->op->trans_b)
        return tell_exchanged(m, t, 1, dim[0], dim[1], err);
    return tell(m, t->data, (size_t)kiln_type_elems(&t->type) * sizeof(float), err);
}

static kiln_status tell_tensors(const armcl *m, kiln_err *err) {
    const kiln_library_op *op = m->op;
    KILN_TRY(tell_activation(m, 0, err));
    KILN_TRY(tell_weights(m, err));
    for (int i = 0; i < op->n_tails; i++) {
        const kiln_library_tail *t = &op->tail[i];
        const kiln_tensor *v = t->tensor >= 0 ? &op->in[t->tensor].value : NULL;
        if (t->kind == KILN_LIBRARY_BIAS)
            KILN_TRY(tell(m, v->data, (size_t)kiln_type_elems(&v->type) * sizeof(float),
                          err));
        if (t->kind == KILN_LIBRARY_ADD)
            KILN_TRY(tell_activation(m, t->tensor, err));
    }
    return KILN_OK;
}

/* ---- the call -------------------------------------------------------------------- */

static const int tail_of[KILN_N_LIBRARY_TAILS] = {
    [KILN_LIBRARY_BIAS] = -1,
    [KILN_LIBRARY_ADD] = KILN_ARMCL_ADD,
    [KILN_LIBRARY_RELU] = KILN_ARMCL_RELU,
    [KILN_LIBRARY_CLIP] = KILN_ARMCL_CLIP,
    [KILN_LIBRARY_LEAKY_RELU] = KILN_ARMCL_LEAKY_RELU,
    [KILN_LIBRARY_ELU] = KILN_ARMCL_ELU,
    [KILN_LIBRARY_SIGMOID] = KILN_ARMCL_SIGMOID,
    [KILN_LIBRARY_TANH] = KILN_ARMCL_TANH,
    [KILN_LIBRARY_GELU] = -1,
    [KILN_LIBRARY_GELU_TANH] = -1,
    [KILN_LIBRARY_SWISH] = -1,
    [KILN_LIBRARY_HARD_SWISH] = KILN_ARMCL_HARD_SWISH};

static kiln_status read_tails(armcl *m, kiln_err *err) {
    for (int i = 0; i < m->op->n_tails; i++) {
        const kiln_library_tail *t = &m->op->tail[i];
        if (t->kind == KILN_LIBRARY_BIAS) {
            if (i != 0 || !m->op->in[t->tensor].is_constant)
                return none_such(err, "a bias that is no constant right behind");
            m->call.has_bias = 1;
            continue;
        }
        if (tail_of[t->kind] < 0)
            return none_such(err, kiln_library_tail_name(t->kind));
        m->call.tail[m->call.n_tails++] =
            (kiln_armcl_tail){tail_of[t->kind], (float)t->alpha, (float)t->beta};
    }
    return KILN_OK;
}

/* Innermost first. */
static kiln_status set_dims(int32_t to[KILN_ARMCL_RANK], int64_t a, int64_t b,
                            int64_t c, int64_t d, kiln_err *err) {
    const int64_t dim[KILN_ARMCL_RANK] = {a, b, c, d};
    for (int i = 0; i < KILN_ARMCL_RANK; i++) {
        if (dim[i] < 1 || dim[i] > KILN_ARMCL_MAX_DIM)
            return none_such(err, "a dimension of so many elements");
        to[i] = (int32_t)dim[i];
    }
    return KILN_OK;
}

static int32_t at_least_0(int64_t v) { return v > 0 ? (int32_t)v : 0; }

static kiln_status set_conv(armcl *m, kiln_err *err) {
    const kiln_library_op *op = m->op;
    const int64_t *x = op->in[0].value.type.dim, *w = op->in[1].value.type.dim,
                  *y = op->out.dim;
    kiln_armcl_call *c = &m->call;
    if (!op->in[1].is_constant)
        return none_such(err, "a convolution whose weights are no constants");
    if (op->groups != 1 && w[1] != 1)
        return none_such(err, "groups of several channels");
    c->kind = op->groups == 1 ? KILN_ARMCL_CONV : KILN_ARMCL_DEPTHWISE;
    c->multiplier = (int32_t)(w[0] / x[1]);
    for (size_t i = 0; i < 2; i++) { /* height comes first in ours */
        c->stride[i] = (int32_t)op->stride[1 - i];
        c->dilation[i] = (int32_t)op->dilation[1 - i];
        c->pad[2 * i] = at_least_0(op->pad_begin[1 - i]);
        c->pad[2 * i + 1] = at_least_0(op->pad_end[1 - i]);
    }
    KILN_TRY(set_dims(c->x, x[1], x[3], x[2], x[0], err));
    KILN_TRY(set_dims(c->y, y[1], y[3], y[2], y[0], err));
    return op->groups == 1 ? set_dims(c->w, w[1], w[3], w[2], w[0], err)
                           : set_dims(c->w, w[0], w[3], w[2], 1, err);
}

static kiln_status set_product(armcl *m, kiln_err *err) {
    const kiln_library_op *op = m->op;
    const kiln_type *b = &op->in[1].value.type, *y = &op->out;
    if (!op->in[1].is_constant || b->rank != 2)
        return none_such(err, "a product of two activations");
    if (op->trans_a)
        return none_such(err, "a product with a transposed activation");
    const int64_t k = b->dim[op->trans_b ? 1 : 0], n = b->dim[op->trans_b ? 0 : 1],
                  rows = kiln_type_elems(y) / n;
    m->call.kind = KILN_ARMCL_PRODUCT;
    KILN_TRY(set_dims(m->call.x, k, rows, 1, 1, err));
    KILN_TRY(set_dims(m->call.w, n, k, 1, 1, err));
    return set_dims(m->call.y, n, rows, 1, 1, err);
}

static kiln_status set_anchor(armcl *m, kiln_err *err) {
    switch (m->op->kind) {
    case KILN_LIBRARY_CONV:
        return set_conv(m, err);
    case KILN_LIBRARY_MATMUL:
        return set_product(m, err);
    case KILN_LIBRARY_MAX_POOL:
    case KILN_LIBRARY_AVG_POOL:
    case KILN_LIBRARY_SOFTMAX:
    case KILN_N_LIBRARY_KINDS:
        break;
    }
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "the Arm Compute Library is asked for convolutions and products "
                     "alone, not for %s",
                     kiln_library_kind_name(m->op->kind));
}

/* ---- the library ----------------------------------------------------------------- */

static kiln_status prepare(kiln_arena *a, const kiln_library_op *op, int threads,
                           kiln_library_ready *out, kiln_err *err) {
    armcl *m = kiln_new(a, armcl);
    kiln_library_op *own = kiln_new(a, kiln_library_op);
    kiln_armcl_answer answer;
    const char *argv[4];
    *own = *op;
    *m = (armcl){.op = own, .arena = a, .call = {.threads = threads}};
    if (kiln_type_elems(&op->out) == 0)
        return none_such(err, "one without elements");
    KILN_TRY(set_anchor(m, err));
    KILN_TRY(read_tails(m, err));
    KILN_TRY(command(a, argv, err));
    const kiln_talk_options o = {.shared = -1, .is_wide = true};
    KILN_TRY(kiln_talk_open(a, argv, &o, &m->talk, err));
    KILN_TRY(tell(m, &m->call, sizeof m->call, err));
    KILN_TRY(hear(m, &answer, sizeof answer, err));
    answer.text[sizeof answer.text - 1] = '\0';
    if (!answer.is_ready)
        return none_such(err, answer.text);
    KILN_TRY(tell_tensors(m, err));
    *out =
        (kiln_library_ready){.own = m, .implementation = kiln_str_dup(a, answer.text)};
    return KILN_OK;
}

static kiln_status run_timed(const kiln_library_ready *r, int64_t *ns, kiln_err *err) {
    const int32_t request = KILN_ARMCL_RUN;
    KILN_TRY(tell(r->own, &request, sizeof request, err));
    return hear(r->own, ns, sizeof *ns, err);
}

static kiln_status run(const kiln_library_ready *r, kiln_err *err) {
    int64_t ns;
    return run_timed(r, &ns, err);
}

static kiln_status read_output(const kiln_library_ready *r, kiln_tensor *out,
                               kiln_err *err) {
    const armcl *m = r->own;
    const int32_t request = KILN_ARMCL_READ;
    const int64_t *dim = m->op->out.dim, n = kiln_type_elems(&m->op->out);
    float *v = is_image(m) ? kiln_array(m->arena, float, n) : out->data;
    KILN_TRY(tell(m, &request, sizeof request, err));
    KILN_TRY(hear(m, v, (size_t)n * sizeof *v, err));
    if (is_image(m))
        exchange(v, out->data, dim[0], dim[2] * dim[3], dim[1]);
    return KILN_OK;
}

const kiln_library kiln_library_armcl = {
    .name = "armcl",
    .open = open_board,
    .version = version,
    .prepare = prepare,
    .run = run,
    .time = run_timed,
    .read = read_output,
};
