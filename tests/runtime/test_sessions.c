/* One model, many threads: sessions of one and of two threads opened, run and closed at
 * once, each with inputs of its own. Kernels are C and work in two parallel phases over
 * workspace and scratch, crosswise, so that under `make tsan` a missing order between
 * two threads, two steps or two sessions is seen. */
#include "runtime/kiln.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/plan_text.h"

#include <pthread.h>
#include <string.h>

enum { N = 16, N_CALLERS = 4, N_SESSIONS = 3, N_RUNS = 20 };

static int is_equal(const float *got, const float *want, size_t n) {
    size_t same = 0;
    while (same < n && got[same] == want[same])
        same++;
    return same == n;
}

/* phase 1: workspace = y */
static int keep(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
                int64_t end, void *scratch) {
    const float *y = args->tensor[1];
    float *kept = args->workspace, *own = scratch;
    (void)ctx;
    (void)closure;
    for (int64_t i = begin; i < end; i++) {
        own[0] = y[i];
        kept[i] = own[0];
    }
    return 0;
}

/* phase 2: z = x + workspace, backwards: of other threads */
static int sum(const kiln_args *args, kiln_ctx *ctx, void *closure, int64_t begin,
               int64_t end, void *scratch) {
    const float *x = args->tensor[0], *kept = args->workspace;
    float *z = args->tensor[2], *own = scratch;
    (void)ctx;
    (void)closure;
    for (int64_t i = begin; i < end; i++) {
        own[0] = kept[N - 1 - i];
        z[i] = x[i] + own[0];
    }
    return 0;
}

static int add(const kiln_args *args, kiln_ctx *ctx) {
    const int failed = ctx->parallel_for(ctx, keep, args, NULL, N);
    return failed ? failed : ctx->parallel_for(ctx, sum, args, NULL, N);
}

static kiln_kernel_fn *find_kernel(void *user, const char *symbol) {
    (void)user;
    (void)symbol;
    return add;
}

/* When it is opened p = w + w'; s = p + v'; four times s = s + (row t of x)';
 * z = s + v'; ' is backwards. */
static const char steps[] = "open call add w w p; call add p v s; loop 4; take x e; "
                            "call add s e s; put s y; end; call add s v z";

static void expect(const float *x, const float *v, const float *w, float *z) {
    float s[N];
    for (int i = 0; i < N; i++)
        s[i] = w[i] + w[N - 1 - i] + v[N - 1 - i];
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < N; i++)
            s[i] += x[t * N + N - 1 - i];
    for (int i = 0; i < N; i++)
        z[i] = s[i] + v[N - 1 - i];
}

/* One caller; small whole numbers: sums are exact in any order. */
typedef struct caller {
    const kiln_model *model;
    const float *w;
    int id;
    const char *wrong; /* NULL: all was right */
} caller;

static const char *run_session(const caller *c, int round, int n_threads) {
    static const unsigned char yes = 1;
    char error[KILN_ERROR_TEXT];
    float x[4 * N], v[N], want[N];
    const kiln_session_options o = {.n_threads = n_threads};
    kiln_session *s = kiln_session_open(c->model, &o, error);
    const char *wrong = s == NULL ? "a session does not open" : NULL;
    for (int run = 0; run < N_RUNS && wrong == NULL; run++) {
        for (int i = 0; i < 4 * N; i++)
            x[i] = (float)((i * 7 + c->id + run) % 31);
        for (int i = 0; i < N; i++)
            v[i] = (float)(i * c->id + round);
        expect(x, v, c->w, want);
        kiln_session_set_input(s, 0, x);
        kiln_session_set_input(s, 1, v);
        kiln_session_set_input(s, 2, &yes);
        if (kiln_session_run(s) != 0)
            wrong = "a run fails";
        else if (!is_equal(kiln_session_output(s, 1), want,
                           sizeof want / sizeof want[0]))
            wrong = "an output is wrong";
    }
    kiln_session_close(s);
    return wrong;
}

static void *call(void *user) {
    caller *c = user;
    for (int round = 0; round < N_SESSIONS && c->wrong == NULL; round++)
        c->wrong = run_session(c, round, 1 + (c->id + round) % 2);
    return NULL;
}

static void sessions_in_many_threads_share_a_model(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    char error[KILN_ERROR_TEXT] = "";
    kiln_test_plan p;
    kiln_test_plan_read(steps, &p);
    p.kernel[1] =
        (kiln_plan_kernel){p.kernel[0].symbol, 0, 3, 1, 0, 0, 128, 64}; /* unused */
    const kiln_str plan = kiln_test_plan_write(a, &p);
    float *w = kiln_array(a, float, N);
    for (int i = 0; i < N; i++)
        w[i] = (float)(100 * i);
    const kiln_model_parts parts = {plan.p,        plan.n,      w,
                                    N * sizeof *w, find_kernel, NULL};
    kiln_model *m = kiln_model_from_parts(&parts, NULL, error);
    if (m == NULL)
        fail_msg("%s", error);
    pthread_t thread[N_CALLERS];
    caller callers[N_CALLERS];
    for (int i = 0; i < N_CALLERS; i++) {
        callers[i] = (caller){m, w, i, NULL};
        assert_int_equal(pthread_create(&thread[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < N_CALLERS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < N_CALLERS; i++)
        if (callers[i].wrong != NULL)
            fail_msg("caller %d: %s", i, callers[i].wrong);
    kiln_model_close(m);
}

int main(void) {
    kiln_test_add("sessions_in_many_threads_share_a_model",
                  sessions_in_many_threads_share_a_model, NULL);
    return kiln_test_run("sessions");
}
