/* A device that is made up here, in one file, and that nothing else knows: the table of
 * functions below is handed to the model, a plan names it. The host cannot see its
 * memory: addresses are keys, bytes lie inverted elsewhere. So whoever reads them without
 * a copy gets nonsense or a fault. Code comes as a file of the package, in a format of its
 * own. Operations are done when somebody waits for them, as late as can be. */
#include "runtime/device.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/plan_model.h"

#include <stdio.h>
#include <string.h>

enum { N = KILN_TEST_PLAN_ELEMS, N_LATE = 32, ROOM = 4096 };
/* Far from any address of this process. */
static const uintptr_t key = (uintptr_t)1 << 60;

typedef struct late {
    int is_launch;
    kiln_device_launch launch;
    kiln_device_copy copy;
} late;

typedef struct made_up_device {
    kiln_device base;
    unsigned char memory[ROOM];
    size_t used;
    int n_live;
} made_up_device;

typedef struct made_up_module {
    kiln_device_module base;
    char symbol[16];
} made_up_module;

typedef struct made_up_queue {
    kiln_device_queue base;
    made_up_device *device;
    late op[N_LATE];
    uint64_t n_told, n_done;
    int failed;
    kiln_device_failure failure;
} made_up_queue;

static made_up_device the_device;
static made_up_module the_module;
static made_up_queue the_queue[2];
static int n_open, n_launched, fails_from; /* 0: no launch fails */
extern const kiln_device_kind made_up;

static int device_open(const kiln_allocator *allocator, kiln_device **out,
                       char error[KILN_ERROR_TEXT]) {
    (void)error;
    memset(&the_device, 0, sizeof the_device);
    the_device.base = (kiln_device){&made_up, *allocator};
    *out = &the_device.base;
    n_open++;
    return 0;
}

static void device_close(kiln_device *d) {
    assert_int_equal(((made_up_device *)d)->n_live, 0);
    n_open--;
}

static void *device_alloc(kiln_device *base, uint32_t memory, size_t bytes) {
    made_up_device *d = (made_up_device *)base;
    const size_t at = d->used;
    assert_int_equal(memory, 0);
    assert_true(bytes > 0);
    bytes = (bytes + 63) / 64 * 64;
    if (bytes > ROOM - at)
        return NULL;
    d->used += bytes;
    d->n_live++;
    return (void *)(key + at);
}

static void device_release(kiln_device *d, uint32_t memory, void *block) {
    (void)memory;
    assert_true((uintptr_t)block >= key);
    ((made_up_device *)d)->n_live--;
}

static int module_open(kiln_device *d, const kiln_device_image *image,
                       kiln_device_module **out, char error[KILN_ERROR_TEXT]) {
    (void)d;
    if (image->bytes == NULL || image->n < 9 ||
        memcmp(image->bytes, "MADE UP ", 8) != 0) {
        snprintf(error, KILN_ERROR_TEXT, "is not made up");
        return -1;
    }
    the_module.base.kind = &made_up;
    memcpy(the_module.symbol, (const char *)image->bytes + 8, image->n - 8);
    *out = &the_module.base;
    n_open++;
    return 0;
}

static int module_kernel(kiln_device_module *m, const char *symbol,
                         kiln_device_kernel *out) {
    const made_up_module *made = (made_up_module *)m;
    *out = (kiln_device_kernel){.handle = made->symbol};
    return strcmp(symbol, made->symbol) == 0 ? 0 : -1;
}

static void module_close(kiln_device_module *m) {
    (void)m;
    n_open--;
}

static int queue_open(kiln_device *d, const kiln_device_queue_options *o,
                      kiln_device_queue **out, char error[KILN_ERROR_TEXT]) {
    (void)o;
    (void)error;
    made_up_queue *q = &the_queue[the_queue[0].base.kind != NULL];
    memset(q, 0, sizeof *q);
    q->base.kind = &made_up;
    q->device = (made_up_device *)d;
    *out = &q->base;
    n_open++;
    return 0;
}

static void queue_close(kiln_device_queue *q) {
    assert_true(((made_up_queue *)q)->n_done == ((made_up_queue *)q)->n_told);
    q->kind = NULL;
    n_open--;
}

/* ---- what it does ----------------------------------------------------------------- */

static int is_its(uintptr_t at) { return at >= key; }

static unsigned char get(const made_up_queue *q, uintptr_t at) {
    if (!is_its(at))
        return *(const unsigned char *)at;
    assert_true(at - key < q->device->used);
    return (unsigned char)~q->device->memory[at - key];
}

static void set(const made_up_queue *q, uintptr_t at, unsigned char byte) {
    if (!is_its(at)) {
        *(unsigned char *)at = byte;
        return;
    }
    assert_true(at - key < q->device->used);
    q->device->memory[at - key] = (unsigned char)~byte;
}

static void copy_bytes(const made_up_queue *q, const kiln_device_copy *c) {
    for (size_t i = 0; i < c->bytes; i++)
        set(q, (uintptr_t)c->to + i, get(q, (uintptr_t)c->from + i));
}

static void fetch(const made_up_queue *q, void *to, const void *from, size_t bytes) {
    const kiln_device_copy c = {to, from, bytes, 0};
    copy_bytes(q, &c);
}

/* The one kernel: z = x + y. */
static int compute(const made_up_queue *q, const kiln_device_launch *l) {
    float x[N], y[N];
    assert_int_equal(l->n_operands, 3);
    for (int k = 0; k < 3; k++)
        assert_true(is_its((uintptr_t)l->operand[k]));
    if (++n_launched == fails_from)
        return 9;
    fetch(q, x, l->operand[0], sizeof x);
    fetch(q, y, l->operand[1], sizeof y);
    for (int i = 0; i < N; i++)
        x[i] += y[i];
    fetch(q, l->operand[2], x, sizeof x);
    return 0;
}

static uint64_t finish_until(made_up_queue *q, uint64_t ticket) {
    for (; q->n_done < q->n_told && q->n_done < ticket; q->n_done++) {
        const late *o = &q->op[q->n_done % N_LATE];
        if (!q->failed && !o->is_launch)
            copy_bytes(q, &o->copy);
        const int code = !q->failed && o->is_launch ? compute(q, &o->launch) : 0;
        if (code != 0) {
            q->failed = 1;
            q->failure = (kiln_device_failure){o->launch.tag, code, NULL};
        }
    }
    return q->n_done;
}

static uint64_t tell(made_up_queue *q, const late *o) {
    if (q->n_told - q->n_done == N_LATE)
        finish_until(q, q->n_done + 1);
    q->op[q->n_told % N_LATE] = *o;
    return ++q->n_told;
}

static uint64_t launch(kiln_device_queue *q, const kiln_device_launch *l) {
    const late o = {.is_launch = 1, .launch = *l};
    return tell((made_up_queue *)q, &o);
}

static uint64_t copy(kiln_device_queue *q, const kiln_device_copy *c) {
    const late o = {.copy = *c};
    return tell((made_up_queue *)q, &o);
}

static int finish(kiln_device_queue *base, uint64_t ticket, kiln_device_failure *out) {
    made_up_queue *q = (made_up_queue *)base;
    finish_until(q, ticket);
    if (!q->failed)
        return 0;
    *out = q->failure;
    q->failed = ticket != KILN_DEVICE_ALL;
    return -1;
}

const kiln_device_kind made_up = {.name = "host7",
                                  .n_memories = 1,
                                  .open = device_open,
                                  .close = device_close,
                                  .alloc = device_alloc,
                                  .release = device_release,
                                  .module_open = module_open,
                                  .module_kernel = module_kernel,
                                  .module_close = module_close,
                                  .queue_open = queue_open,
                                  .queue_close = queue_close,
                                  .launch = launch,
                                  .copy = copy,
                                  .finish = finish};

/* ---- models ----------------------------------------------------------------------- */

static const kiln_device_kind *const kinds[] = {&made_up};
static const kiln_model_module code = {"two.so", "MADE UP add", 12};

static kiln_session *open_session(const char *steps, kiln_model **m) {
    const kiln_model_options o = {
        .device = kinds, .n_devices = 1, .module = &code, .n_modules = 1};
    char error[KILN_ERROR_TEXT] = "";
    *m = kiln_test_plan_model(steps, "host7", &o, error);
    kiln_session *s = *m != NULL ? kiln_session_open(*m, NULL, error) : NULL;
    if (s == NULL)
        fail_msg("%s", error);
    assert_int_equal(kiln_test_plan_set_inputs(s), 0);
    return s;
}

static void close_all(kiln_session *s, kiln_model *m) {
    kiln_session_close(s);
    kiln_model_close(m);
    assert_int_equal(n_open, 0);
}

typedef struct row {
    const char *name, *steps;
    float z;
} row;
static row rows[] = {
    {"computes_in_memory_that_nobody_sees",
     "@1 copy v a; @1 copy w d; @1 call add2 a d f; @1 copy f z", 110},
    {"packs_what_it_reads",
     "open call add w w p; open @1 copy p r; @1 copy v a; @1 call add2 a r d; "
     "@1 copy d z",
     210},
    {"packs_by_itself",
     "open @1 copy w r; @1 copy v a; @1 call add2 a r d; @1 call add2 d r f; @1 copy f "
     "z",
     210},
    {"repeats",
     "@1 copy w a; loop 4; @1 take x d; @1 call add2 a d a; @1 put a y; end; @1 copy a "
     "z",
     110},
    {"goes_there_and_back",
     "@1 copy v a; @1 call add2 a a d; @1 copy d s; wait 2; call add s w e; @1 copy e "
     "f; "
     "@1 copy f z",
     120},
    {"lets_its_queues_wait",
     "@1 copy v a; @2 wait 0; @2 call add2 a a d; @1 wait 2; @1 call add2 d a f; @2 "
     "wait 4; "
     "@2 copy f z",
     30},
};

static void computes(void **state) {
    const row *r = *state;
    kiln_model *m = NULL;
    kiln_session *s = open_session(r->steps, &m);
    for (int run = 0; run < 3; run++) {
        kiln_session_profile(s, run == 1); /* step by step */
        assert_int_equal(kiln_session_run(s), 0);
        const float *z = kiln_session_output(s, 1);
        for (int i = 0; i < N; i++)
            assert_float_equal(z[i], r->z, 0);
    }
    close_all(s, m);
}

/* Who looks on sees what lies there, and nobody's bytes before they are written. */
typedef struct seen {
    float read, written;
    int n;
} seen;

static void look(void *user, const kiln_trace *t) {
    seen *s = user;
    if (t->kind == KILN_TRACE_READ && t->step == 2 && t->operand == 1)
        s->read = *(const float *)t->data;
    if (t->kind == KILN_TRACE_WRITTEN && t->step == 2)
        s->written = *(const float *)t->data;
    if (t->kind == KILN_TRACE_READ && t->step == 3) {
        const unsigned char *bytes = t->data;
        for (size_t i = 0; i < t->bytes; i++)
            s->n += bytes[i] == 0xFF;
    }
}

static void shows_its_memory(void **state) {
    (void)state;
    kiln_model *m = NULL;
    kiln_session *s =
        open_session("@1 copy v a; @1 copy w d; @1 call add2 a d f; @1 copy g b", &m);
    seen got = {.n = 0};
    kiln_session_trace(s, look, &got);
    assert_int_equal(kiln_session_run(s), 0);
    assert_float_equal(got.read, 100, 0);
    assert_float_equal(got.written, 110, 0);
    assert_int_equal(got.n, 256); /* g was never written */
    close_all(s, m);
}

static void says_what_failed(void **state) {
    (void)state;
    kiln_model *m = NULL;
    kiln_session *s = open_session(
        "@1 copy v a; @1 call add2 a a d; @1 copy d s; wait 2; copy s z", &m);
    n_launched = 0;
    fails_from = 2;
    assert_int_equal(kiln_session_run(s), 0);
    assert_int_equal(kiln_session_run(s), -1);
    assert_string_equal(kiln_session_error(s), "step 'step' failed with code 9");
    assert_int_equal(kiln_session_run(s), 0); /* nothing is left of it */
    fails_from = 0;
    close_all(s, m);
}

static void is_refused_where_something_is_missing(void **state) {
    (void)state;
    static const kiln_model_module other = {"two.so", "something else", 14};
    const kiln_model_options without_kind = {.module = &code, .n_modules = 1};
    const kiln_model_options without_code = {.device = kinds, .n_devices = 1};
    const kiln_model_options with_other = {
        .device = kinds, .n_devices = 1, .module = &other, .n_modules = 1};
    char error[KILN_ERROR_TEXT] = "";
    assert_null(kiln_test_plan_model("@1 copy v a", "host7", &without_kind, error));
    assert_string_equal(error,
                        "the package is for a device 'host7', which this runtime does "
                        "not know: use one that does, or build the package without it");
    assert_null(kiln_test_plan_model("@1 copy v a", "host7", &without_code, error));
    assert_string_equal(error, "module 'two.so': is not made up");
    assert_null(kiln_test_plan_model("@1 copy v a", "host7", &with_other, error));
    assert_string_equal(error, "module 'two.so': is not made up");
    assert_int_equal(n_open, 0);
}

int main(void) {
    kiln_test_add_rows(computes, rows);
    kiln_test_add("shows_its_memory", shows_its_memory, NULL);
    kiln_test_add("says_what_failed", says_what_failed, NULL);
    kiln_test_add("is_refused_where_something_is_missing",
                  is_refused_where_something_is_missing, NULL);
    return kiln_test_run("a made-up device");
}
