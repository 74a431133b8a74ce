/* What a program is for a GPU: launches, one after another, all of whose numbers are known.
 * The host's loops are unrolled; its buffers lie in the kernel's workspace. */
#include "compiler/codegen/codegen_gpu_module.h"

#include <inttypes.h>
#include <string.h>

/* OpenCL's devices give a part of their memory only from multiples of what they say: 128
 * bytes on CPUs and Mali, 512 on NVIDIA's. */
enum { ALIGN = 64, APART = 512, MAX_LAUNCHES = 4096, MAX_TURNS = 1 << 16 };
static const int64_t max_memory = (int64_t)1 << 40;

typedef struct held {
    const kiln_buffer *buffer;
    size_t offset;
} held;

typedef struct splitter {
    kiln_arena *arena;
    const kiln_program *p;
    kiln_gpu_split *out;
    KILN_VEC(kiln_subst) known;
    KILN_VEC(held) held;
    size_t workspace;
    int turns; /* of loops, whatever they launch */
    kiln_status status;
    kiln_err *err;
} splitter;

/* "a.b_c" as "a_2eb__c": no two names become one. */
static const char *escaped(kiln_arena *a, const char *name) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_buf_puts(&out, "");
    for (const char *c = name; *c != '\0'; c++) {
        const bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                              (*c >= '0' && *c <= '9');
        if (is_plain)
            kiln_buf_add(&out, c, 1);
        else if (*c == '_')
            kiln_buf_puts(&out, "__");
        else
            kiln_buf_printf(&out, "_%02x", (unsigned char)*c);
    }
    return out.p;
}

static void refuse(splitter *x, const char *what) {
    if (x->status == KILN_OK)
        x->status = kiln_fail(
            x->err, KILN_ERR_UNSUPPORTED,
            "a GPU's launches are known before they run, but %s of '%s' is not: put it "
            "inside the thread loops",
            what, x->p->name);
}

static int64_t number(splitter *x, const kiln_expr *e, const char *what) {
    const kiln_ranges none = {.arena = x->arena};
    int64_t v = 0;
    e = kiln_expr_substitute(x->arena, e, x->known.v, x->known.n);
    if (!kiln_x_is_int(kiln_simplify_expr(&none, x->arena, e), &v))
        refuse(x, what);
    return v;
}

static void know(splitter *x, const kiln_var *v, int64_t value) {
    const kiln_subst s = {v, kiln_x_int(x->arena, v->dtype, value)};
    kiln_vec_push(x->arena, &x->known, s);
}

/* ---- launches -------------------------------------------------------------------- */

static int entry_of(splitter *x, const kiln_program *p, const int64_t *extent) {
    kiln_gpu_split *out = x->out;
    for (size_t i = 0; i < out->entry.n; i++)
        if (out->entry.v[i].program == p &&
            memcmp(out->entry.v[i].extent, extent, sizeof out->entry.v[i].extent) == 0)
            return (int)i;
    kiln_gpu_entry e = {.name =
                            kiln_format(x->arena, "%s_l%zu",
                                        escaped(x->arena, x->p->name), out->entry.n),
                        .program = p};
    memcpy(e.extent, extent, sizeof e.extent);
    kiln_vec_push(x->arena, &out->entry, e);
    return (int)out->entry.n - 1;
}

/* The place of a load: it must be the first element of an operand, or begin like a
 * buffer of the workspace. */
static kiln_gpu_arg place_of(splitter *x, const kiln_expr *load) {
    const kiln_buffer *b = load->u.load.buffer;
    int64_t stride[KILN_MAX_AXES], at = 0;
    kiln_buffer_strides(b, stride);
    for (int i = 0; i < b->rank; i++)
        at += stride[i] * number(x, load->arg[i], "the place of an argument");
    at *= (int64_t)kiln_dtype_bytes(b->dtype);
    for (int i = 0; i < x->p->n_args; i++)
        if (x->p->arg[i] == b && at == 0)
            return (kiln_gpu_arg){.kind = KILN_GPU_OPERAND, .index = (uint32_t)i};
    for (size_t i = x->held.n; i-- > 0;)
        if (x->held.v[i].buffer == b && at >= 0 && at % ALIGN == 0)
            return (kiln_gpu_arg){.kind = KILN_GPU_WORKSPACE,
                                  .value =
                                      (uint64_t)x->held.v[i].offset + (uint64_t)at};
    if (x->status == KILN_OK)
        x->status =
            kiln_fail(x->err, KILN_ERR_UNSUPPORTED,
                      "a launch of '%s' is given byte %" PRId64 " of '%s': it must be "
                      "an operand's first, or a multiple of %d of what is allocated",
                      x->p->name, at, b->name, ALIGN);
    return (kiln_gpu_arg){.kind = KILN_GPU_WORKSPACE};
}

static void launch(splitter *x, const kiln_stmt *s) {
    const kiln_program *p = s->u.call.program;
    const int n = p->n_args + p->n_params;
    kiln_gpu_arg *arg = kiln_array(x->arena, kiln_gpu_arg, n + 1);
    int64_t extent[KILN_N_AXES];
    for (int i = 0; i < KILN_N_AXES; i++)
        extent[i] = number(x, s->u.call.grid[i], "the grid");
    for (int i = 0; i < p->n_args; i++)
        arg[i] = place_of(x, s->u.call.arg[i]);
    for (int i = p->n_args; i < n; i++)
        arg[i] = (kiln_gpu_arg){
            .kind = KILN_GPU_I64,
            .value = (uint64_t)number(x, s->u.call.arg[i], "a parameter")};
    if (x->status != KILN_OK)
        return;
    if (x->out->launch.n >= MAX_LAUNCHES) {
        x->status = kiln_fail(x->err, KILN_ERR_LIMIT,
                              "'%s' takes more than %d launches; put the loop around "
                              "them inside the thread loops",
                              x->p->name, MAX_LAUNCHES);
        return;
    }
    const kiln_gpu_started l = {.entry = entry_of(x, p, extent),
                                .arg = arg,
                                .n_args = n,
                                .workspace = x->workspace};
    kiln_vec_push(x->arena, &x->out->launch, l);
}

/* ---- the host -------------------------------------------------------------------- */

static void host(splitter *x, const kiln_stmt *s);

static void host_for(splitter *x, const kiln_stmt *s) {
    const int64_t min = number(x, s->u.loop.min, "a loop's bound");
    const int64_t n = number(x, s->u.loop.extent, "a loop's extent");
    for (int64_t i = 0; i < n && x->status == KILN_OK; i++) {
        if (++x->turns > MAX_TURNS) {
            x->status = kiln_fail(x->err, KILN_ERR_LIMIT,
                                  "loops around the launches of '%s' turn more than %d "
                                  "times; put them inside the thread loops",
                                  x->p->name, MAX_TURNS);
            return;
        }
        know(x, s->u.loop.var, min + i);
        host(x, s->u.loop.body);
        x->known.n--;
    }
}

static void host_alloc(splitter *x, const kiln_stmt *s) {
    const kiln_buffer *b = s->u.alloc.buffer;
    const int64_t elems = kiln_buffer_elems(b);
    const size_t before = x->workspace;
    if (elems < 0 || elems > max_memory / 8 || before > (size_t)max_memory) {
        x->status = kiln_fail(x->err, KILN_ERR_LIMIT,
                              "buffer '%s' of %" PRId64 " elements is more than the "
                              "memory of '%s' may be",
                              b->name, elems, x->p->name);
        return;
    }
    const size_t bytes = (size_t)elems * kiln_dtype_bytes(b->dtype);
    const held h = {b, before};
    kiln_vec_push(x->arena, &x->held, h);
    x->workspace += (bytes + APART - 1) / APART * APART;
    if (x->workspace > x->out->workspace_bytes)
        x->out->workspace_bytes = x->workspace;
    host(x, s->u.alloc.body);
    x->held.n--;
    x->workspace = before;
}

static void host(splitter *x, const kiln_stmt *s) {
    if (x->status != KILN_OK)
        return;
    switch (s->kind) {
    case KILN_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            host(x, s->u.seq.stmt[i]);
        break;
    case KILN_STMT_FOR:
        host_for(x, s);
        break;
    case KILN_STMT_IF:
        if (number(x, s->u.branch.cond, "a condition") != 0)
            host(x, s->u.branch.then);
        else if (s->u.branch.otherwise != NULL)
            host(x, s->u.branch.otherwise);
        break;
    case KILN_STMT_LET:
        know(x, s->u.let.var, number(x, s->u.let.value, "a value"));
        host(x, s->u.let.body);
        x->known.n--;
        break;
    case KILN_STMT_ALLOC:
        host_alloc(x, s);
        break;
    case KILN_STMT_ATTR:
        host(x, s->u.attr.body);
        break;
    case KILN_STMT_LAUNCH:
        launch(x, s);
        break;
    case KILN_STMT_STORE:
    case KILN_STMT_EVAL:
    case KILN_STMT_BARRIER:
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
        refuse(x, "what the host does with memory");
        break;
    }
}

static void find_launch(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || s->kind == KILN_STMT_LAUNCH;
}

static bool has_launch(const kiln_stmt *s) {
    bool found = false;
    kiln_stmt_visit(s, find_launch, &found);
    return found;
}

/* All of it, by one thread. */
static void launch_whole(splitter *x) {
    const int64_t one[KILN_N_AXES] = {1, 1, 1, 1, 1, 1};
    kiln_gpu_arg *arg = kiln_array(x->arena, kiln_gpu_arg, x->p->n_args + 1);
    for (int i = 0; i < x->p->n_args; i++)
        arg[i] = (kiln_gpu_arg){.kind = KILN_GPU_OPERAND, .index = (uint32_t)i};
    const kiln_gpu_started l = {
        .entry = entry_of(x, x->p, one), .arg = arg, .n_args = x->p->n_args};
    kiln_vec_push(x->arena, &x->out->launch, l);
}

kiln_status kiln_gpu_split_program(kiln_arena *a, const kiln_program *p,
                                   kiln_gpu_split *out, kiln_err *err) {
    KILN_ASSERT(p->body != NULL, "program '%s' was not lowered", p->name);
    splitter x = {.arena = a, .p = p, .out = out, .err = err};
    *out = (kiln_gpu_split){.symbol = p->name, .n_operands = p->n_args};
    if (!has_launch(p->body)) {
        kiln_program *copy = kiln_new(a, kiln_program);
        *copy = *p;
        copy->arena = a;
        KILN_TRY(kiln_loop_pass_outline.run(copy, NULL, err));
        x.p = copy;
    }
    if (has_launch(x.p->body))
        host(&x, x.p->body);
    else
        launch_whole(&x);
    if (x.status == KILN_OK && out->launch.n == 0)
        x.status =
            kiln_fail(err, KILN_ERR_UNSUPPORTED, "'%s' launches nothing", p->name);
    return x.status;
}
