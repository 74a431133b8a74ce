/* Integers, bool and conversions in generated code: no trap, no wrapped index, and the
 * results that the operators promise. */
#include "compiler/codegen/codegen.h"
#include "compiler/graph/op.h"
#include "runtime/loader.h"
#include "tests/support/kernel/code_run.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

enum { N = 1024, LANES = 8 };

static const kiln_dtype all_dtypes[] = {
    KILN_F32, KILN_F16, KILN_BF16, KILN_F64, KILN_I8,  KILN_U8,  KILN_I16,
    KILN_U16, KILN_I32, KILN_U32,  KILN_I64, KILN_U64, KILN_BOOL};
enum { N_DTYPES = sizeof all_dtypes / sizeof all_dtypes[0] };

/* ---- one input or two, several outputs, element by element ----------------------- */

typedef struct loop {
    kiln_arena *a;
    const kiln_buffer *arg[16];
    int n_args, n_inputs;
    kiln_var *i;
    const kiln_expr *at;
    const kiln_stmt *body[16];
    int n_body;
} loop;

static void loop_init(loop *l, kiln_arena *a) {
    *l = (loop){.a = a, .i = kiln_var_new(a, "i", KILN_I64)};
    l->at = kiln_x_ramp(a, kiln_x_mul(a, kiln_x_ref(a, l->i), kiln_x_index(a, LANES)),
                        kiln_x_index(a, 1), LANES);
}

static kiln_buffer *loop_buffer(loop *l, kiln_dtype dtype) {
    const int64_t dim = N;
    kiln_buffer *b = kiln_buffer_new(l->a, kiln_format(l->a, "b%d", l->n_args), dtype,
                                     1, &dim, KILN_SCOPE_GLOBAL);
    b->arg = l->n_args;
    l->arg[l->n_args++] = b;
    return b;
}

static const kiln_expr *loop_input(loop *l, kiln_dtype dtype) {
    const kiln_buffer *b = loop_buffer(l, dtype);
    l->n_inputs++;
    return kiln_x_load(l->a, b, &l->at, 1, NULL);
}

static void loop_output(loop *l, const kiln_expr *value) {
    l->body[l->n_body++] =
        kiln_s_store(l->a, loop_buffer(l, value->dtype), &l->at, value, NULL);
}

static kiln_program *loop_program(loop *l) {
    kiln_arena *a = l->a;
    kiln_program *p = kiln_new(a, kiln_program);
    *p = (kiln_program){
        .name = "f",
        .arena = a,
        .arg = kiln_arena_dup(a, l->arg, (size_t)l->n_args * sizeof l->arg[0]),
        .n_args = l->n_args,
        .n_inputs = l->n_inputs,
        .is_flat = true,
        .body = kiln_s_for(a, l->i, kiln_x_index(a, 0), kiln_x_index(a, N / LANES),
                           KILN_LOOP_SERIAL, NULL, kiln_s_seq(a, l->body, l->n_body))};
    return p;
}

static kiln_tensor tensor_of(kiln_arena *a, kiln_dtype dtype) {
    const int64_t dim = N;
    const kiln_type t = kiln_type_make(dtype, 1, &dim);
    return kiln_tensor_new(a, &t);
}

static kiln_wide wide_of(kiln_arena *a, const kiln_tensor *t) {
    kiln_wide w = kiln_wide_new(a, &t->type);
    kiln_widen(&t->type, t->data, &w);
    return w;
}

/* Any bits; small numbers; ends of the ranges, and beside them. */
static kiln_tensor drawn(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype) {
    static const double edge[] = {0,
                                  -0.0,
                                  -1,
                                  127.5,
                                  128,
                                  -128.5,
                                  255.5,
                                  256,
                                  32767.5,
                                  -32769,
                                  65535.5,
                                  65536,
                                  2147483647.5,
                                  0x1p31,
                                  -0x1p31,
                                  0x1p32,
                                  0x1p63,
                                  -0x1p63,
                                  0x1p64,
                                  1e300,
                                  -1e300,
                                  (double)NAN,
                                  (double)INFINITY,
                                  -(double)INFINITY};
    enum { EDGES = sizeof edge / sizeof edge[0] };
    kiln_tensor t = tensor_of(a, dtype);
    kiln_wide w = kiln_wide_new(a, &t.type);
    for (int i = 0; i < N; i++) {
        const uint64_t bits = kiln_rng_next(rng);
        const int scale = i % 5 == 0 ? 0 : (int)(kiln_rng_next(rng) % 80) - 10;
        if (w.f != NULL)
            w.f[i] = i < EDGES ? edge[i] : ldexp((double)(int64_t)bits, scale - 64);
        else if (i % 3 == 0)
            w.i[i] = (int64_t)(bits % 7) - 3;
        else
            w.i[i] = (int64_t)(bits >> (bits % 61));
    }
    if (w.i != NULL) {
        w.i[0] = kiln_dtype_get(dtype)->min_i;
        w.i[1] = kiln_dtype_get(dtype)->max_i;
        w.i[2] = -1;
        w.i[3] = 0;
        w.i[4] = ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1; /* halfway, and a bit */
    }
    kiln_narrow(&w, t.data);
    return t;
}

static void check_same(kiln_arena *a, const kiln_tensor *got, const kiln_wide *want,
                       const char *what) {
    const kiln_wide g = wide_of(a, got);
    for (int i = 0; i < N; i++)
        if (g.f != NULL
                ? !(g.f[i] == want->f[i] || (isnan(g.f[i]) && isnan(want->f[i])))
                : g.i[i] != want->i[i])
            fail_msg("%s: element %d is %.17g, wanted %.17g", what, i,
                     g.f != NULL ? g.f[i] : (double)g.i[i],
                     g.f != NULL ? want->f[i] : (double)want->i[i]);
}

/* ---- conversions ----------------------------------------------------------------- */

/* What the graph's cast makes of it. */
static kiln_wide cast_of(kiln_arena *a, const kiln_wide *x, kiln_dtype to) {
    kiln_attr attr = {.i = to};
    const int64_t dim = N;
    kiln_value in = {.type = x->type}, *ins[] = {&in};
    const kiln_node n = {
        .op = &kiln_op_cast, .attr = &attr, .n_in = 1, .in = ins, .n_out = 1};
    const kiln_type t = kiln_type_make(to, 1, &dim);
    kiln_wide y = kiln_wide_new(a, &t);
    kiln_err err = {0};
    kiln_eval_cx cx = {.scratch = a, .in = x, .out = &y, .err = &err};
    kiln_assert_status_ok(kiln_op_cast.eval_ref(&n, &cx), &err);
    kiln_wide_round(&y);
    return y;
}

typedef struct from_row {
    const char *name;
    kiln_dtype dtype;
} from_row;

static from_row from_rows[N_DTYPES];

static void casts_as_the_graph(void **state) {
    const from_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_rng rng;
    loop l;
    kiln_rng_init(&rng, kiln_test_seed());
    loop_init(&l, a);
    const kiln_expr *x = loop_input(&l, r->dtype);
    for (int k = 0; k < N_DTYPES; k++)
        loop_output(&l, kiln_x_cast(a, all_dtypes[k], x));
    const kiln_program *p = loop_program(&l);
    const kiln_tensor in = drawn(a, &rng, r->dtype);
    const kiln_wide w = wide_of(a, &in);
    kiln_tensor out[N_DTYPES];
    void *tensor[N_DTYPES + 1] = {in.data};
    kiln_err err = {0};
    for (int k = 0; k < N_DTYPES; k++) {
        out[k] = tensor_of(a, all_dtypes[k]);
        tensor[k + 1] = out[k].data;
    }
    for (int i = -1; i < 0 || code_profile_at(i) != NULL; i++) {
        const char *by = i < 0 ? "the interpreter" : code_profile_at(i)->name;
        if (i >= 0 && kiln_dtype_is_float(r->dtype) &&
            !code_converts(code_profile_at(i)))
            continue;
        if (i < 0) {
            kiln_assert_status_ok(kiln_program_run(a, p, tensor, NULL, &err), &err);
        } else {
            code_kernel *code = code_compile(a, p, code_profile_at(i));
            code_call(code, tensor, by);
            code_close(code);
        }
        for (int k = 0; k < N_DTYPES; k++) {
            const kiln_wide want = cast_of(a, &w, all_dtypes[k]);
            check_same(a, &out[k], &want,
                       kiln_format(a, "%s to %s by %s", r->name,
                                   kiln_dtype_name(all_dtypes[k]), by));
        }
    }
}

/* ---- quotients, powers ----------------------------------------------------------- */

static from_row integer_rows[] = {
    {"i8_arithmetic", KILN_I8},   {"u8_arithmetic", KILN_U8},
    {"i16_arithmetic", KILN_I16}, {"u16_arithmetic", KILN_U16},
    {"i32_arithmetic", KILN_I32}, {"u32_arithmetic", KILN_U32},
    {"i64_arithmetic", KILN_I64}, {"u64_arithmetic", KILN_U64}};

/* Divisors are never zero here: what is wanted is the interpreter's. */
static void agrees_at_the_edges(void **state) {
    static const kiln_expr_kind kinds[] = {KILN_EXPR_DIV, KILN_EXPR_FLOORDIV,
                                           KILN_EXPR_FLOORMOD};
    const from_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_rng rng;
    loop l;
    kiln_err err = {0};
    kiln_rng_init(&rng, kiln_test_seed());
    loop_init(&l, a);
    const kiln_expr *x = loop_input(&l, r->dtype), *y = loop_input(&l, r->dtype);
    const kiln_expr *pair[2] = {x, y};
    for (int k = 0; k < 3; k++) {
        loop_output(&l, kiln_x_binary(a, kinds[k], x, y));
        loop_output(&l, kiln_x_binary(a, kinds[k], x,
                                      kiln_x_int(a, r->dtype, k == 0 ? 7 : 16)));
    }
    if (kiln_dtype_get(r->dtype)->is_signed)
        loop_output(&l,
                    kiln_x_binary(a, KILN_EXPR_DIV, x, kiln_x_int(a, r->dtype, -1)));
    loop_output(&l, kiln_x_call(a, KILN_INTRIN_abs, &x));
    loop_output(&l, kiln_x_call(a, KILN_INTRIN_pow, pair));
    const kiln_program *p = loop_program(&l);
    void *want[16], *got[16];
    kiln_tensor t[16], in[2];
    for (int i = 0; i < p->n_args; i++) {
        t[i] = tensor_of(a, p->arg[i]->dtype);
        want[i] = tensor_of(a, p->arg[i]->dtype).data;
        got[i] = t[i].data;
    }
    for (int i = 0; i < 2; i++) {
        in[i] = drawn(a, &rng, r->dtype);
        want[i] = got[i] = in[i].data;
    }
    kiln_wide w = wide_of(a, &in[1]);
    for (int i = 0; i < N; i++)
        w.i[i] += w.i[i] == 0;
    kiln_narrow(&w, in[1].data);
    const int64_t min = kiln_dtype_get(r->dtype)->min_i;
    kiln_wide first = wide_of(a, &in[0]), second = wide_of(a, &in[1]);
    first.i[0] = min; /* the quotient that overflows */
    second.i[0] = -1;
    kiln_narrow(&first, in[0].data);
    kiln_narrow(&second, in[1].data);
    kiln_assert_status_ok(kiln_program_run(a, p, want, NULL, &err), &err);
    for (int i = 0; code_profile_at(i) != NULL; i++) {
        const char *by = code_profile_at(i)->name;
        code_kernel *code = code_compile(a, p, code_profile_at(i));
        code_call(code, got, by);
        code_close(code);
        for (int k = 2; k < p->n_args; k++) {
            kiln_tensor expected = t[k];
            expected.data = want[k];
            const kiln_wide e = wide_of(a, &expected);
            check_same(a, &t[k], &e, kiln_format(a, "output %d on %s", k, by));
        }
    }
}

/* By zero, and counts past the bits: any result, but one. */
static void never_traps(void **state) {
    const from_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    loop l;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    loop_init(&l, a);
    const kiln_expr *x = loop_input(&l, r->dtype), *y = loop_input(&l, r->dtype);
    static const kiln_expr_kind kinds[] = {KILN_EXPR_DIV, KILN_EXPR_FLOORDIV,
                                           KILN_EXPR_FLOORMOD, KILN_EXPR_SHL,
                                           KILN_EXPR_SHR};
    for (int k = 0; k < 5; k++) {
        loop_output(&l, kiln_x_binary(a, kinds[k], x, y));
        loop_output(
            &l, kiln_x_binary(a, kinds[k], x,
                              kiln_x_broadcast(a, kiln_x_int(a, r->dtype, 0), LANES)));
    }
    const kiln_program *p = loop_program(&l);
    void *tensor[16];
    for (int i = 0; i < p->n_args; i++)
        tensor[i] =
            i < 2 ? drawn(a, &rng, r->dtype).data : tensor_of(a, p->arg[i]->dtype).data;
    for (int i = 0; code_profile_at(i) != NULL; i++) {
        code_kernel *code = code_compile(a, p, code_profile_at(i));
        code_call(code, tensor, code_profile_at(i)->name);
        code_close(code);
    }
}

/* ---- large buffers --------------------------------------------------------------- */

enum { FAR = 64 };
static const int64_t row_elems =
    ((int64_t)1 << 30) + 11; /* odd, and 4 rows pass 2^32 */

/* y[i], z[i][...]: reads at element r * row_elems + c of a sparse x, by vector, by
 * stride, by index and by element, and writes there. */
static kiln_program *far_program(kiln_arena *a) {
    const int64_t big[2] = {5, row_elems}, small = FAR;
    kiln_buffer *x = kiln_buffer_new(a, "x", KILN_F32, 2, big, KILN_SCOPE_GLOBAL);
    kiln_buffer *row =
        kiln_buffer_new(a, "row", KILN_I64, 1, &small, KILN_SCOPE_GLOBAL);
    kiln_buffer *y = kiln_buffer_new(a, "y", KILN_F32, 1, &small, KILN_SCOPE_GLOBAL);
    kiln_buffer *z = kiln_buffer_new(a, "z", KILN_U8, 2, big, KILN_SCOPE_GLOBAL);
    const kiln_buffer **arg = kiln_array(a, const kiln_buffer *, 4);
    kiln_buffer *const all[] = {x, row, y, z};
    for (int i = 0; i < 4; i++) {
        all[i]->arg = i;
        arg[i] = all[i];
    }
    kiln_var *i = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *r = kiln_x_ref(a, i);
    const kiln_expr *last = kiln_x_index(a, row_elems - FAR);
    const kiln_expr *lanes = kiln_x_ramp(a, last, kiln_x_index(a, 1), LANES);
    const kiln_expr *apart = kiln_x_ramp(a, last, kiln_x_index(a, 5), LANES);
    const kiln_expr *wide_r = kiln_x_broadcast(a, r, LANES);
    const kiln_expr *out = kiln_x_ramp(a, kiln_x_mul(a, r, kiln_x_index(a, LANES)),
                                       kiln_x_index(a, 1), LANES);
    const kiln_expr *rows = kiln_x_load(a, row, &out, 1, NULL);
    const kiln_expr *at[3][2] = {{wide_r, lanes}, {wide_r, apart}, {rows, lanes}};
    const kiln_expr *sum = NULL;
    for (int k = 0; k < 3; k++) {
        const kiln_expr *v = kiln_x_load(a, x, at[k], 2, NULL);
        sum = sum == NULL ? v : kiln_x_add(a, sum, v);
    }
    const kiln_expr *one[2] = {r, last}, *byte[2] = {r, apart};
    sum =
        kiln_x_add(a, sum, kiln_x_broadcast(a, kiln_x_load(a, x, one, 2, NULL), LANES));
    const kiln_stmt *body[2] = {kiln_s_store(a, y, &out, sum, NULL),
                                kiln_s_store(a, z,
                                             (const kiln_expr *[]){wide_r, byte[1]},
                                             kiln_x_cast(a, KILN_U8, sum), NULL)};
    kiln_program *p = kiln_new(a, kiln_program);
    *p = (kiln_program){.name = "f",
                        .arena = a,
                        .arg = arg,
                        .n_args = 4,
                        .n_inputs = 2,
                        .body =
                            kiln_s_for(a, i, kiln_x_index(a, 0), kiln_x_index(a, 5),
                                       KILN_LOOP_SERIAL, NULL, kiln_s_seq(a, body, 2))};
    return p;
}

static void *sparse(size_t bytes) {
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void check_far(const kiln_object *o, const char *what) {
    const size_t elems = 5 * (size_t)row_elems;
    _Alignas(64) float y[FAR] = {0};
    float *x = sparse(elems * sizeof *x), want[FAR] = {0};
    unsigned char *z = sparse(elems);
    _Alignas(64) int64_t row[FAR] = {0};
    kiln_code *code = NULL;
    char text[KILN_LOAD_TEXT] = "";
    kiln_ctx ctx;
    if (x == MAP_FAILED || z == MAP_FAILED)
        kiln_test_skip("there are no 25 GiB of addresses");
    for (size_t r = 0; r < 5; r++)
        for (size_t k = 0; k < FAR; k++)
            x[r * (size_t)row_elems + (size_t)row_elems - FAR + k] =
                (float)(r * 7 + k % 13);
    for (int i = 0; i < FAR; i++)
        row[i] = (i * 3 + 4) % 5;
    if (kiln_code_open(o->bytes.p, o->bytes.n, &code, text) != KILN_LOAD_OK)
        fail_msg("%s: %s", what, text);
    void *tensor[4] = {x, row, y, z};
    const kiln_args args = {tensor, NULL};
    kiln_ctx_init_serial(&ctx, NULL);
    assert_int_equal(kiln_code_kernel(code, "f")(&args, &ctx), 0);
    for (size_t r = 0; r < 5; r++) {
        for (size_t k = 0; k < LANES; k++) {
            const size_t end = (size_t)row_elems - FAR,
                         base = r * (size_t)row_elems + end;
            const size_t i = r * LANES + k;
            want[i] = x[base + k] + x[base + 5 * k] +
                      x[(size_t)row[i] * (size_t)row_elems + end + k] + x[base];
            if (y[i] != want[i] || z[base + 5 * k] != (unsigned char)want[i])
                fail_msg("%s: row %zu lane %zu: %g and %d, wanted %g", what, r, k,
                         (double)y[i], z[base + 5 * k], (double)want[i]);
        }
    }
    kiln_code_close(code);
    munmap(x, elems * sizeof *x);
    munmap(z, elems);
}

static void addresses_past_two_to_the_32(void **state) {
    kiln_arena *a = kiln_test_arena();
    const kiln_program *p = far_program(a);
    kiln_profile machine;
    kiln_err err = {0};
    (void)state;
    kiln_assert_status_ok(kiln_profile_detect(a, &machine, &err), &err);
    for (int i = 0; kiln_profile_at(i) != NULL; i++) {
        const kiln_profile *prof = kiln_profile_at(i);
        const kiln_codegen_options o = {.want_ir = true};
        kiln_codegen_text text = {.ir = {NULL, 0}};
        char missing[128];
        kiln_object object;
        kiln_assert_status_ok(kiln_codegen(a, p, prof, &o, &object, &text, &err), &err);
        /* An index that is cut to 32 bits would show. */
        assert_null(strstr(text.ir.p, "trunc <8 x i64>"));
        if (kiln_profile_runs_on(prof, &machine, missing))
            check_far(&object, prof->name);
    }
}

int main(void) {
    for (int i = 0; i < N_DTYPES; i++) {
        from_rows[i].dtype = all_dtypes[i];
        from_rows[i].name = kiln_format(kiln_test_arena(), "%s_casts_as_the_graph",
                                        kiln_dtype_name(all_dtypes[i]));
    }
    kiln_test_add_rows(casts_as_the_graph, from_rows);
    kiln_test_add_rows(agrees_at_the_edges, integer_rows);
    for (size_t i = 0; i < sizeof integer_rows / sizeof integer_rows[0]; i++)
        kiln_test_add(kiln_format(kiln_test_arena(), "%s_never_traps",
                                  kiln_dtype_name(integer_rows[i].dtype)),
                      never_traps, &integer_rows[i]);
    kiln_test_add("addresses_past_two_to_the_32", addresses_past_two_to_the_32, NULL);
    return kiln_test_run("integers in generated code");
}
