/* Devices by their interface alone: each kind of the table does in order what its queues
 * are told, waits for what it is told to wait for, says what failed, and leaves nothing
 * when memory runs out. Under `make tsan` a missing order is seen. */
#include "runtime/device.h"
#include "runtime/model_internal.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { N = 16 };

typedef struct row {
    const char *name, *kind;
} row;
static row kinds[] = {{"host", "host"}, {"host2", "host2"}};

static int n_live, fail_at, n_blocks;

static void *counted_alloc(void *user, size_t bytes) {
    kiln_allocator *plain = user;
    if (n_blocks++ == fail_at)
        return NULL;
    n_live++;
    return plain->alloc(plain->user, bytes);
}

static void counted_release(void *user, void *block) {
    kiln_allocator *plain = user;
    n_live--;
    plain->release(plain->user, block);
}

static kiln_allocator plain;
static const kiln_allocator counted = {counted_alloc, counted_release, &plain};

/* ---- kernels ---------------------------------------------------------------------- */

/* y = 2 x + 1, by way of workspace and scratch. */
static int step(const kiln_args *args, kiln_ctx *ctx) {
    const double *x = args->tensor[0];
    double *y = args->tensor[1], *kept = args->workspace, *own = ctx->scratch;
    for (int i = 0; i < N; i++)
        kept[i] = 2 * x[i];
    for (int i = 0; i < N; i++) {
        own[0] = kept[i] + 1;
        y[i] = own[0];
    }
    return 0;
}

static int fail_with_7(const kiln_args *args, kiln_ctx *ctx) {
    (void)args;
    (void)ctx;
    return 7;
}

static kiln_kernel_fn *find(void *user, const char *symbol) {
    (void)user;
    return strcmp(symbol, "step") == 0   ? step
           : strcmp(symbol, "fail") == 0 ? fail_with_7
                                         : NULL;
}

/* ---- a device that is open -------------------------------------------------------- */

enum { N_QUEUES = 2 };
typedef struct opened {
    const kiln_device_kind *kind;
    kiln_device *device;
    kiln_device_module *module;
    kiln_device_queue *queue[N_QUEUES];
    double *a, *b;
    kiln_device_kernel step, fail;
} opened;

/* As much as there is is open. */
static int open_device(opened *o, const char *kind, char *error) {
    const kiln_device_image image = {.kernel = find};
    const kiln_device_queue_options options = {.workspace_bytes = N * sizeof(double),
                                               .scratch_bytes = sizeof(double)};
    *o = (opened){.kind = kiln_device_kind_named(kind, NULL, 0)};
    assert_non_null(o->kind);
    if (o->kind->open(&counted, &o->device, error) != 0)
        return -1;
    if (o->kind->module_open(o->device, &image, &o->module, error) != 0)
        return -1;
    for (int i = 0; i < N_QUEUES; i++)
        if (o->kind->queue_open(o->device, &options, &o->queue[i], error) != 0)
            return -1;
    o->a = o->kind->alloc(o->device, 0, N * sizeof *o->a);
    o->b = o->kind->alloc(o->device, 0, N * sizeof *o->b);
    assert_int_equal(o->kind->module_kernel(o->module, "none", &o->step), -1);
    assert_int_equal(o->kind->module_kernel(o->module, "step", &o->step), 0);
    assert_int_equal(o->kind->module_kernel(o->module, "fail", &o->fail), 0);
    return o->a != NULL && o->b != NULL ? 0 : -1;
}

static void close_device(opened *o) {
    if (o->device == NULL)
        return;
    o->kind->release(o->device, 0, o->a);
    o->kind->release(o->device, 0, o->b);
    for (int i = 0; i < N_QUEUES; i++)
        if (o->queue[i] != NULL)
            o->kind->queue_close(o->queue[i]);
    o->kind->module_close(o->module);
    o->kind->close(o->device);
}

static void open_all(opened *o, const char *kind) {
    char error[KILN_ERROR_TEXT] = "";
    fail_at = -1;
    if (open_device(o, kind, error) != 0)
        fail_msg("%s", error);
    for (int i = 0; i < N; i++)
        o->a[i] = i;
}

static uint64_t launch(const opened *o, int queue, kiln_device_kernel k,
                       double **operand, uint32_t tag) {
    const kiln_device_launch l = {k, (void *const *)operand, 2, tag};
    return o->kind->launch(o->queue[queue], &l);
}

/* ---- what all kinds do ------------------------------------------------------------ */

static void does_in_order_what_it_is_told(void **state) {
    enum { N_ROUNDS = 200, N_STEPS = 20 }; /* more than a queue holds at a time */
    const row *r = *state;
    double *there[2], *back[2];
    kiln_device_failure failure;
    opened o;
    open_all(&o, r->kind);
    there[0] = back[1] = o.a;
    there[1] = back[0] = o.b;
    for (int round = 0; round < N_ROUNDS; round++) {
        uint64_t last = 0, ticket = 0;
        for (int i = 0; i < N; i++)
            o.a[i] = i + round;
        for (int i = 0; i < N_STEPS; i += 2, last = ticket) {
            launch(&o, 0, o.step, there, 0);
            ticket = launch(&o, 0, o.step, back, 0);
            assert_true(ticket == 0 || ticket > last);
        }
        assert_int_equal(o.kind->finish(o.queue[0], ticket, &failure), 0);
        for (int i = 0; i < N; i++) /* x -> (x + 1) 2^n - 1 */
            assert_true(o.a[i] == (i + round + 1) * (double)(1 << N_STEPS) - 1);
    }
    close_device(&o);
    assert_int_equal(n_live, 0);
}

/* Queue 1 works on what queue 0 leaves, and the other way round. */
static void queues_wait_for_one_another(void **state) {
    enum { N_ROUNDS = 100 };
    const row *r = *state;
    double *there[2], *back[2];
    kiln_device_failure failure;
    uint64_t done_back = 0;
    opened o;
    open_all(&o, r->kind);
    there[0] = back[1] = o.a;
    there[1] = back[0] = o.b;
    for (int round = 0; round < N_ROUNDS; round++) {
        const kiln_device_copy c = {o.a, o.b, N / 2 * sizeof *o.a, 0};
        if (o.kind->order != NULL)
            o.kind->order(o.queue[0], o.queue[1], done_back);
        const uint64_t done = launch(&o, 0, o.step, there, 0);
        if (o.kind->order != NULL)
            o.kind->order(o.queue[1], o.queue[0], done);
        launch(&o, 1, o.step, back, 0);
        done_back = o.kind->copy(o.queue[1], &c);
        if (round % 20 != 19) /* doubles hold 40 steps exactly */
            continue;
        assert_int_equal(o.kind->finish(o.queue[1], KILN_DEVICE_ALL, &failure), 0);
        for (int i = 0; i < N; i++) {
            /* The first half goes back to what b was: one step a round, not two. */
            const double times = i < N / 2 ? 1 << 20 : (double)(INT64_C(1) << 40);
            assert_true(o.a[i] == (i + 1) * times - 1);
            o.a[i] = i;
        }
    }
    close_device(&o);
    assert_int_equal(n_live, 0);
}

static void skips_what_follows_a_failure(void **state) {
    const row *r = *state;
    double *there[2], *in_place[2];
    kiln_device_failure failure = {0};
    opened o;
    open_all(&o, r->kind);
    there[0] = in_place[0] = in_place[1] = o.a;
    there[1] = o.b;
    for (int again = 0; again < 2; again++) {
        memset(o.b, 0, N * sizeof *o.b);
        launch(&o, 0, o.step, there, 1);
        launch(&o, 0, o.fail, there, 2);
        const kiln_device_copy c = {o.b, o.a, N * sizeof *o.a, 3};
        const uint64_t ticket = o.kind->copy(o.queue[0], &c);
        if (o.kind->order != NULL) {
            o.kind->order(o.queue[1], o.queue[0], ticket);
            launch(&o, 1, o.step, in_place, 4);
            assert_int_equal(o.kind->finish(o.queue[1], KILN_DEVICE_ALL, &failure), -1);
            assert_int_equal(failure.tag, 2);
        }
        assert_int_equal(o.kind->finish(o.queue[0], ticket, &failure), -1);
        assert_int_equal(o.kind->finish(o.queue[0], KILN_DEVICE_ALL, &failure), -1);
        assert_int_equal(failure.tag, 2);
        assert_int_equal(failure.code, 7);
        for (int i = 0; i < N; i++) {
            assert_true(o.a[i] == i);
            assert_true(o.b[i] == 2 * i + 1);
        }
        assert_int_equal(o.kind->finish(o.queue[0], KILN_DEVICE_ALL, &failure), 0);
    }
    close_device(&o);
    assert_int_equal(n_live, 0);
}

static void failing_memory_leaves_nothing(void **state) {
    const row *r = *state;
    char error[KILN_ERROR_TEXT];
    int n_failures = 0, is_open = 0;
    for (; !is_open; n_failures++) {
        opened o;
        error[0] = '\0';
        fail_at = n_failures;
        n_blocks = 0;
        is_open = open_device(&o, r->kind, error) == 0;
        if (!is_open && o.b == NULL && o.a == NULL && o.queue[N_QUEUES - 1] == NULL)
            assert_non_null(strstr(error, "no memory for"));
        close_device(&o);
        assert_int_equal(n_live, 0);
    }
    assert_true(n_failures > 8); /* device, module, queues of three blocks, memory */
}

static void broken_modules_are_refused(void **state) {
    const row *r = *state;
    static const char text[] = "this is no library";
    const kiln_device_image image = {.bytes = text, .n = sizeof text};
    char error[KILN_ERROR_TEXT] = "";
    kiln_device_module *m = NULL;
    opened o;
    open_all(&o, r->kind);
    assert_int_equal(o.kind->module_open(o.device, &image, &m, error), -1);
    assert_string_equal(error, "this is no ELF64 object or shared library");
    close_device(&o);
    assert_int_equal(n_live, 0);
}

/* ---- the table -------------------------------------------------------------------- */

static void kinds_are_found_by_name(void **state) {
    (void)state;
    static const kiln_device_kind mine = {.name = "mine"}, host = {.name = "host"};
    const kiln_device_kind *const extra[] = {&mine, &host};
    assert_null(kiln_device_kind_named("mine", NULL, 0));
    assert_ptr_equal(kiln_device_kind_named("mine", extra, 2), &mine);
    /* The table's own cannot be replaced. */
    assert_ptr_not_equal(kiln_device_kind_named("host", extra, 2), &host);
    assert_null(kiln_device_kind_named("", extra, 2));
}

int main(void) {
    kiln_allocator_default(&plain);
    kiln_test_add_rows(does_in_order_what_it_is_told, kinds);
    kiln_test_add_rows(queues_wait_for_one_another, kinds);
    kiln_test_add_rows(skips_what_follows_a_failure, kinds);
    kiln_test_add_rows(failing_memory_leaves_nothing, kinds);
    kiln_test_add_rows(broken_modules_are_refused, kinds);
    kiln_test_add("kinds_are_found_by_name", kinds_are_found_by_name, NULL);
    return kiln_test_run("devices");
}
