/* CLBlast: matrix products by OpenCL, on the device that kiln's kernels run on
 * (KILN_OPENCL_DEVICE), with the parameters that CLBlast's own database has for it. The
 * library and OpenCL's loader are opened when the program starts, so that building needs
 * neither; prototypes are those of CLBlast's published C interface. Linux, for dladdr.
 *
 * Its kernels are told to the queue while that waits, so that the time between their
 * first and their last, by the device's clock, has nothing of the host's in it. */
#include "pipeline/baselines/library/library.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/device/device_opencl.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112, COMPLETE = 0 };

typedef int sgemm_fn(int layout, int trans_a, int trans_b, size_t m, size_t n, size_t k,
                     float alpha, kiln_cl_mem a, size_t a_at, size_t a_ld,
                     kiln_cl_mem b, size_t b_at, size_t b_ld, float beta, kiln_cl_mem c,
                     size_t c_at, size_t c_ld, kiln_cl_queue *queue,
                     kiln_cl_event *event);
typedef int sgemm_batched_fn(int layout, int trans_a, int trans_b, size_t m, size_t n,
                             size_t k, float alpha, kiln_cl_mem a, size_t a_at,
                             size_t a_ld, size_t a_stride, kiln_cl_mem b, size_t b_at,
                             size_t b_ld, size_t b_stride, float beta, kiln_cl_mem c,
                             size_t c_at, size_t c_ld, size_t c_stride, size_t batch,
                             kiln_cl_queue *queue, kiln_cl_event *event);
typedef kiln_cl_event user_event_fn(kiln_cl_context c, int32_t *code);
typedef int32_t set_event_fn(kiln_cl_event e, int32_t state);

static struct {
    const kiln_opencl_api *cl;
    sgemm_fn *sgemm;
    sgemm_batched_fn *sgemm_batched;
    user_event_fn *user_event;
    set_event_fn *set_event;
    kiln_cl_context context;
    kiln_cl_queue queue;
    char title[KILN_OPENCL_TITLE];
} own;

typedef struct product {
    bool trans_a, trans_b;
    size_t m, n, k, batch, bytes; /* bytes: of the output */
    kiln_cl_mem a, b, c;
} product;

/* ---- opening --------------------------------------------------------------------- */

static kiln_status look_up(void *library, const char *name, void *to, kiln_err *err) {
    void *found = dlsym(library, name);
    if (found == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "CLBlast or OpenCL's loader has no '%s'",
                         name);
    memcpy(to, &found, sizeof found);
    return KILN_OK;
}

static kiln_status check(int32_t code, const char *doing, kiln_err *err) {
    const char *why = kiln_opencl_why(code);
    if (code == 0)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_LIB, "CLBlast or OpenCL says %d, %s (%s)", (int)code,
                     why != NULL ? why : "a code of CLBlast's", doing);
}

static kiln_status open_device(kiln_err *err) {
    kiln_cl_platform platform = NULL;
    kiln_cl_device device = NULL;
    char error[KILN_ERROR_TEXT] = "";
    int32_t code = 0;
    if (kiln_opencl_pick(own.cl, &platform, &device, own.title, error) != 0)
        return kiln_fail(err, KILN_ERR_MISSING, "%s", error);
    const intptr_t of[] = {KILN_CL_CONTEXT_PLATFORM, (intptr_t)platform, 0};
    own.context = own.cl->clCreateContext(of, 1, &device, NULL, NULL, &code);
    KILN_TRY(check(code, "opening the device", err));
    own.queue = own.cl->clCreateCommandQueue(own.context, device,
                                             KILN_CL_QUEUE_PROFILING_ENABLE, &code);
    return check(code, "opening a queue", err);
}

static kiln_status open_all(const char *file, kiln_err *err) {
    char error[KILN_ERROR_TEXT] = "";
    own.cl = kiln_opencl_api_open(error);
    if (own.cl == NULL)
        return kiln_fail(err, KILN_ERR_MISSING, "%s", error);
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL)
        return kiln_fail(err, KILN_ERR_MISSING, "'%s' cannot be opened: %s", file,
                         dlerror());
    KILN_TRY(look_up(library, "CLBlastSgemm", (void *)&own.sgemm, err));
    KILN_TRY(look_up(library, "CLBlastSgemmStridedBatched", (void *)&own.sgemm_batched,
                     err));
    /* CLBlast needs OpenCL's loader: what that has is found through it. */
    KILN_TRY(look_up(library, "clCreateUserEvent", (void *)&own.user_event, err));
    KILN_TRY(look_up(library, "clSetUserEventStatus", (void *)&own.set_event, err));
    return open_device(err);
}

/* The library does not say which it is: its file's name does, where it has a number. */
static const char *version(kiln_arena *a) {
    Dl_info info;
    void *at = NULL;
    memcpy(&at, &own.sgemm, sizeof at);
    const char *path = "";
    if (dladdr(at, &info) != 0)
        (void)kiln_path_real(a, info.dli_fname, &path, NULL);
    const char *number = strstr(path, ".so.");
    return number != NULL ? number + strlen(".so.") : "unknown";
}

/* ---- one product ----------------------------------------------------------------- */

static kiln_status measure(const kiln_library_op *op, product *p, kiln_err *err) {
    const kiln_type *a = &op->in[0].value.type, *b = &op->in[1].value.type;
    const int ra = a->rank, rb = b->rank;
    bool fits = op->n_tails == 0 && op->out.dtype == KILN_F32 &&
                (rb == ra || (rb == 2 && !op->trans_a));
    for (int i = 0; fits && rb == ra && i < ra - 2; i++)
        fits = a->dim[i] == b->dim[i];
    if (op->kind != KILN_LIBRARY_MATMUL || !fits)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "CLBlast is asked for products of f32 with nothing behind "
                         "them, and batches of equal length");
    *p = (product){.trans_a = op->trans_a,
                   .trans_b = op->trans_b,
                   .m = (size_t)a->dim[op->trans_a ? ra - 1 : ra - 2],
                   .k = (size_t)a->dim[op->trans_a ? ra - 2 : ra - 1],
                   .n = (size_t)b->dim[op->trans_b ? rb - 2 : rb - 1],
                   .batch = 1,
                   .bytes = (size_t)kiln_type_elems(&op->out) * sizeof(float)};
    for (int i = 0; i < ra - 2; i++)
        *(rb == 2 ? &p->m : &p->batch) *= (size_t)a->dim[i];
    return KILN_OK;
}

static kiln_status put(const kiln_tensor *t, size_t bytes, kiln_cl_mem *out,
                       kiln_err *err) {
    int32_t code = 0;
    *out =
        own.cl->clCreateBuffer(own.context, KILN_CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (code == 0 && t != NULL)
        code = own.cl->clEnqueueWriteBuffer(own.queue, *out, 1, 0, bytes, t->data, 0,
                                            NULL, NULL);
    return check(code, "filling a buffer", err);
}

static size_t bytes_of(const kiln_tensor *t) {
    return (size_t)kiln_type_elems(&t->type) * sizeof(float);
}

static kiln_status tell(const product *p, kiln_cl_event *last, kiln_err *err) {
    const int ta = p->trans_a ? TRANSPOSED : PLAIN,
              tb = p->trans_b ? TRANSPOSED : PLAIN;
    const size_t lda = p->trans_a ? p->m : p->k, ldb = p->trans_b ? p->k : p->n;
    const int code =
        p->batch == 1
            ? own.sgemm(ROW_MAJOR, ta, tb, p->m, p->n, p->k, 1, p->a, 0, lda, p->b, 0,
                        ldb, 0, p->c, 0, p->n, &own.queue, last)
            : own.sgemm_batched(ROW_MAJOR, ta, tb, p->m, p->n, p->k, 1, p->a, 0, lda,
                                p->m * p->k, p->b, 0, ldb, p->k * p->n, 0, p->c, 0,
                                p->n, p->m * p->n, p->batch, &own.queue, last);
    return check(code, "multiplying", err);
}

static kiln_status run_product(const product *p, kiln_err *err) {
    kiln_cl_event last = NULL;
    KILN_TRY(tell(p, &last, err));
    const int32_t code = own.cl->clFinish(own.queue);
    (void)own.cl->clReleaseEvent(last);
    return check(code, "running", err);
}

/* ---- the library ----------------------------------------------------------------- */

static kiln_status prepare(kiln_arena *a, const kiln_library_op *op, int threads,
                           kiln_library_ready *out, kiln_err *err) {
    product *p = kiln_new(a, product);
    (void)threads; /* the device's are OpenCL's to choose */
    KILN_TRY(measure(op, p, err));
    KILN_TRY(put(&op->in[0].value, bytes_of(&op->in[0].value), &p->a, err));
    KILN_TRY(put(&op->in[1].value, bytes_of(&op->in[1].value), &p->b, err));
    KILN_TRY(put(NULL, p->bytes, &p->c, err));
    *out = (kiln_library_ready){.own = p,
                                .implementation = "parameters of its own database"};
    return run_product(p, err); /* compiles its kernels */
}

static kiln_status run(const kiln_library_ready *r, kiln_err *err) {
    return run_product(r->own, err);
}

static kiln_status between(kiln_cl_event from, kiln_cl_event to, int64_t *ns,
                           kiln_err *err) {
    uint64_t begin = 0, end = 0;
    int32_t code = own.cl->clGetEventProfilingInfo(from, KILN_CL_PROFILING_COMMAND_END,
                                                   sizeof begin, &begin, NULL);
    if (code == 0)
        code = own.cl->clGetEventProfilingInfo(to, KILN_CL_PROFILING_COMMAND_END,
                                               sizeof end, &end, NULL);
    *ns = end > begin ? (int64_t)(end - begin) : 1;
    return check(code, "timing", err);
}

/* gate: what the queue waits for until everything is told. */
static kiln_status tell_behind(const product *p, kiln_cl_event gate,
                               kiln_cl_event *begin, kiln_cl_event *last,
                               kiln_err *err) {
    KILN_TRY(check(own.cl->clEnqueueMarkerWithWaitList(own.queue, 1, &gate, begin),
                   "marking", err));
    KILN_TRY(check(own.cl->clEnqueueBarrierWithWaitList(own.queue, 0, NULL, NULL),
                   "marking", err));
    return tell(p, last, err);
}

static kiln_status time_run(const kiln_library_ready *r, int64_t *ns, kiln_err *err) {
    kiln_cl_event begin = NULL, last = NULL;
    int32_t code = 0;
    kiln_cl_event gate = own.user_event(own.context, &code);
    KILN_TRY(check(code, "making an event", err));
    kiln_status st = tell_behind(r->own, gate, &begin, &last, err);
    (void)own.cl->clFlush(own.queue);
    code = own.set_event(gate, COMPLETE);
    if (code == 0)
        code = own.cl->clFinish(own.queue);
    if (st == KILN_OK)
        st = check(code, "running", err);
    if (st == KILN_OK)
        st = between(begin, last, ns, err);
    (void)own.cl->clReleaseEvent(gate);
    if (begin != NULL)
        (void)own.cl->clReleaseEvent(begin);
    if (last != NULL)
        (void)own.cl->clReleaseEvent(last);
    return st;
}

static kiln_status read_output(const kiln_library_ready *r, kiln_tensor *out,
                               kiln_err *err) {
    const product *p = r->own;
    return check(own.cl->clEnqueueReadBuffer(own.queue, p->c, 1, 0, p->bytes, out->data,
                                             0, NULL, NULL),
                 "reading the output", err);
}

const kiln_library kiln_library_clblast = {
    .name = "clblast",
    .open = open_all,
    .version = version,
    .prepare = prepare,
    .run = run,
    .time = time_run,
    .read = read_output,
};
