/* Printed as C, compiled and run equals interpreted: 128 random loop programs and some of
 * quantised networks, as they were lowered and after the loop passes, in one file for each
 * compiler that is here. It must compile without a warning. KILN_KEEP=FILE keeps the text.
 *
 * Tolerance: as test_codegen.c has it; integers are exact. */
#include "compiler/codegen/c/c.h"

#include "base/files/file.h"
#include "base/host/process.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_schedule.h"
#include "tests/support/kernel/te_call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_DRAWN = 128, N_WRITTEN = 7, N_PROGRAMS = N_DRAWN + N_WRITTEN };
enum { PRIMITIVES = 14, MAX_ARGS = 16 };

typedef struct drawn {
    const kiln_program *p;
    void *arg[MAX_ARGS]; /* outputs as the interpreter has them */
    size_t workspace;
} drawn;

static kiln_arena arena;
static drawn all[N_PROGRAMS];
static const char *folder, *source;

/* ---- arguments ------------------------------------------------------------------- */

static kiln_type type_of(const kiln_buffer *b) {
    int64_t dim[KILN_MAX_AXES];
    for (int i = 0; i < b->rank; i++)
        dim[i] = kiln_buffer_dim(b, i);
    return kiln_type_make(b->dtype, b->rank, dim);
}

static size_t bytes_of(const kiln_buffer *b) {
    const kiln_type t = type_of(b);
    return (size_t)kiln_type_bytes(&t);
}

static void fill_random(kiln_rng *rng, const kiln_type *t, void *data) {
    kiln_wide w = kiln_wide_new(&arena, t);
    for (int64_t i = 0; i < kiln_type_elems(t); i++) {
        if (w.f != NULL)
            w.f[i] = 2 * kiln_rng_unit(rng) - 1;
        else
            w.i[i] = kiln_rng_range(rng, t->dtype == KILN_BOOL ? 0 : -7,
                                    t->dtype == KILN_BOOL ? 1 : 7);
    }
    kiln_narrow(&w, data);
}

static void compare(const kiln_buffer *b, const void *got, const void *want,
                    const char *what) {
    const kiln_type t = type_of(b);
    kiln_wide x = kiln_wide_new(&arena, &t), y = kiln_wide_new(&arena, &t);
    kiln_widen(&t, got, &x);
    kiln_widen(&t, want, &y);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++) {
        const double p = x.f != NULL ? x.f[i] : (double)x.i[i];
        const double q = x.f != NULL ? y.f[i] : (double)y.i[i];
        const bool ok = x.f == NULL ? x.i[i] == y.i[i]
                                    : (isnan(p) && isnan(q)) || p == q ||
                                          fabs(p - q) <= te_call_tolerance(t.dtype, q);
        if (!ok)
            fail_msg("%s: '%s' element %lld is %.9g, interpreted %.9g", what, b->name,
                     (long long)i, p, q);
    }
}

/* ---- drawing --------------------------------------------------------------------- */

/* NULL: lowering refused the draw. */
static const kiln_program *draw(kiln_rng *rng, int number) {
    const te_example_def *def = &te_examples[(size_t)number % n_te_examples];
    kiln_buf log;
    kiln_err err = {0};
    te_example x = {.n_args = 0};
    random_schedule_stats stats = {0, 0};
    kiln_program *p = NULL;
    kiln_buf_init(&log, &arena);
    def->make(&arena, &x);
    kiln_schedule *s =
        random_cpu_schedule(&arena, rng, x.arg + x.n_inputs, x.n_args - x.n_inputs,
                            number < 32 ? 0 : PRIMITIVES, &log, &stats);
    const kiln_status st =
        kiln_lower(&arena, s, x.arg, x.n_args, x.n_inputs,
                   kiln_format(&arena, "%s_%d", def->name, number), &p, &err);
    if (st != KILN_OK)
        return NULL;
    kiln_assert_status_ok(kiln_loop_pass_vthread.run(p, NULL, &err), &err);
    if (number % 4 != 1)
        kiln_assert_status_ok(kiln_program_optimize(p, NULL, &err), &err);
    return p;
}

/* What quantised networks end with, which no example of tensor expressions has: tails of
 * blocks, rounding with ties, conversions that saturate, NaN, integers of 64 bits; and sums
 * of products of bytes, by what the machine at hand has for them too; multiply-adds beside
 * what counts on each rounding. */
static const char *const written[N_WRITTEN] = {
    "program requantized(x: i32[64], s: f32[1], out y: u8[64], out z: i8[64],"
    " out v: u16[64]) {"
    " for o in 0 .. +4 { vectorized i in 0 .. +16 {"
    "  y[o*16 + i] = select(i < 12, u8(round(f32(x[o*16 + i])*(s[0]*100f))), u8(0))"
    "  z[o*16 + i] = select(i < 5, i8(round(f32(x[o*16 + i])*0.5f)), i8(0))"
    "  v[o*16 + i] = u16(round(f32(x[o*16 + i])*20000.5f)) } } }",
    "program widened(x: i32[64], s: f32[1], out y: i32[64], out z: f32[64],"
    " out v: i8[64]) {"
    " for o in 0 .. +4 { vectorized i in 0 .. +16 {"
    "  y[o*16 + i] = i32(i8(round(f32(x[o*16 + i])*(s[0]*100f)))) - i32(u8(x[o*16 + i]*"
    "i32(77)))"
    "  z[o*16 + i] = select(i < 8, f32(u8(round(f32(x[o*16 + i])/0f))), 0f)"
    "  v[o*16 + i] = i8(min(max(round(f32(x[o*16 + i])/f32(x[o*16 + i])*0.5f), -3f),"
    " 3f)) } } }",
    "program wide(x: i64[32], y: i32[32], c: u64[1], d: i64[1], out z: i32[32],"
    " out w: i64[32], out u: i16[32]) {"
    " for o in 0 .. +4 { vectorized i in 0 .. +8 {"
    "  w[o*8 + i] = select(c[0] < u64(64), i64(u64(x[o*8 + i]*i64(y[o*8 + i])) >>"
    " (c[0] & u64(7))), 0) - i64(x[o*8 + i] < d[0])"
    "  z[o*8 + i] = i32(i8(min(max(w[o*8 + i] + d[0], -128), 127))) - i32(u16(x[o*8 +"
    " i]*12345)) + i32(i64(y[o*8 + i]) << 3 | 1)"
    "  u[o*8 + i] = i16(w[o*8 + i] ^ x[o*8 + i]*9999) } } }",
    "program dotted(a: u8[65], b: i8[65], x: i32[32], out w: i32[32], out v:"
    " i32[32]) {\n"
    " w[ramp(0, 1, 16)] = dot4(x[ramp(0, 1, 16)], a[ramp(0, 1, 64)], b[ramp(1, 1,"
    " 64)])\n"
    " w[ramp(16, 1, 8)] = dot4(x[ramp(16, 1, 8)], shuffle(a[ramp(33, 1, 4)]; 0, 1,"
    " 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2,"
    " 3, 0, 1, 2, 3), b[ramp(17, 1, 32)])\n"
    " w[ramp(24, 1, 4)] = dot4(x[ramp(24, 1, 4)], b[ramp(3, 1, 16)],"
    " shuffle(a[ramp(7, 1, 4)]; 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3))\n"
    " w[ramp(28, 1, 2)] = dot4(x[ramp(28, 1, 2)], a[ramp(40, 1, 8)], a[ramp(9, 1,"
    " 8)])\n"
    " w[ramp(30, 1, 2)] = dot4(x[ramp(30, 1, 2)], shuffle(b[ramp(5, 1, 4)]; 0, 1,"
    " 2, 3, 0, 1, 2, 3), b[ramp(12, 1, 8)])\n"
    " v[ramp(0, 1, 16)] = dot4(x[ramp(0, 1, 16)], shuffle(b[ramp(2, 1, 4)]; 0, 1,"
    " 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2,"
    " 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3,"
    " 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3), b[ramp(1, 1, 64)])\n"
    " v[ramp(16, 1, 4)] = dot4(x[ramp(16, 1, 4)], b[ramp(21, 1, 16)], b[ramp(39,"
    " 1, 16)])\n"
    " v[ramp(20, 1, 8)] = dot4(x[ramp(20, 1, 8)], shuffle(a[ramp(60, 1, 4)]; 0, 1,"
    " 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2,"
    " 3, 0, 1, 2, 3), a[ramp(4, 1, 32)])\n"
    " v[ramp(28, 1, 4)] = dot4(x[ramp(28, 1, 4)], a[ramp(20, 1, 16)],"
    " shuffle(b[ramp(50, 1, 4)]; 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3)) }",
    "program fused(x: f32[32], y: f32[32], a: f64[16], out z: f32[32], out w: f64[16],"
    " out v: f32[16]) {\n"
    " z[ramp(0, 1, 16)] = x[ramp(0, 1, 16)]*y[ramp(0, 1, 16)] + x[ramp(16, 1, 16)]\n"
    " z[ramp(16, 1, 8)] = x[ramp(3, 1, 8)] + x[ramp(0, 1, 8)]*y[ramp(0, 1, 8)]\n"
    " z[ramp(24, 1, 4)] = x[ramp(0, 1, 4)]*y[ramp(0, 1, 4)] + x[ramp(9, 1, 4)]\n"
    " z[ramp(28, 1, 2)] = x[ramp(0, 1, 2)]*y[ramp(0, 1, 2)] + x[ramp(6, 1, 2)]\n"
    " z[ramp(30, 1, 2)] = y[ramp(0, 1, 2)]*y[ramp(2, 1, 2)] + x[ramp(5, 1, 2)]\n"
    " w[ramp(0, 1, 8)] = a[ramp(0, 1, 8)]*a[ramp(1, 1, 8)] + a[ramp(2, 1, 8)]\n"
    " w[ramp(8, 1, 4)] = a[ramp(4, 1, 4)]*a[ramp(1, 1, 4)] + a[ramp(2, 1, 4)]\n"
    " w[ramp(12, 1, 2)] = a[ramp(3, 1, 2)]*a[ramp(1, 1, 2)] + a[ramp(2, 1, 2)]\n"
    " w[ramp(14, 1, 2)] = a[ramp(5, 1, 2)]*a[ramp(1, 1, 2)] + a[ramp(2, 1, 2)]\n"
    " v[ramp(0, 1, 16)] = add_rn(mul_rn(x[ramp(0, 1, 16)], y[ramp(0, 1, 16)]),"
    " x[ramp(7, 1, 16)]) }",
    "program extremes(x: f32[32], a: f64[16], c: i32[64], y: u8[64], b: i8[64], out z:"
    " f32[32], out w: f64[16], out s: i32[64]) {\n"
    " z[ramp(0, 1, 16)] = min(x[ramp(0, 1, 16)], f32(c[ramp(0, 1, 16)])/f32(c[ramp(0,"
    " 1, 16)]))\n"
    " z[ramp(16, 1, 8)] = max(f32(c[ramp(1, 1, 8)])/f32(c[ramp(1, 1, 8)]), x[ramp(16,"
    " 1, 8)])\n"
    " z[ramp(24, 1, 4)] = max(x[ramp(24, 1, 4)], f32(c[ramp(40, 1, 4)])/f32(c[ramp(40,"
    " 1, 4)]))\n"
    " z[ramp(28, 1, 4)] = min(f32(c[ramp(50, 1, 4)])/f32(c[ramp(50, 1, 4)]), x[ramp(28,"
    " 1, 4)])\n"
    " w[ramp(0, 1, 8)] = max(a[ramp(0, 1, 8)], f64(c[ramp(20, 1, 8)])/f64(c[ramp(20, 1,"
    " 8)]))\n"
    " w[ramp(8, 1, 8)] = min(f64(c[ramp(30, 1, 8)])/f64(c[ramp(30, 1, 8)]), a[ramp(8, "
    "1,"
    " 8)])\n"
    " for o in 0 .. +2 { vectorized i in 0 .. +16 {"
    "  s[o*16 + i] = i32(y[o*16 + i])*i32(i16(c[o*16 + i]*i32(12345))) + c[o*16 + i] } "
    "}"
    " for o in 0 .. +2 { vectorized i in 0 .. +8 {"
    "  s[o*8 + i + 32] = c[o*8 + i] + i32(b[o*8 + i])*i32(y[o*8 + i]) } }"
    " for o in 0 .. +2 { vectorized i in 0 .. +4 {"
    "  s[o*4 + i + 48] = i32(i16(c[o*4 + i]*i32(-12345)))*i32(y[o*4 + i]) + c[o*4 + i]"
    "  s[o*4 + i + 56] = i32(b[o*4 + i])*i32(b[o*4 + i + 9]) + c[o*4 + i] } } }",
    "program turned(x: f32[32], c: i32[64], y: u8[32], b: i8[64], out z: u8[64], out w:"
    " i8[32], out v: i16[16], out t: i32[8]) {"
    " for o in -4 .. +8 { t[o + 4] = select(o*3 <= -5, i32(1), i32(0)) +"
    " select(o*3 < -6, i32(2), i32(0)) + select(o*5 <= 11, i32(4), i32(0)) }"
    " for o in 0 .. +2 { vectorized i in 0 .. +16 {"
    "  z[o*16 + i] = bits_u8(i8(x[o*16 + i]*150f)) ^ y[3]"
    "  z[o*16 + i + 32] = bits_u8(i8(c[o*16 + i]*i32(50))) & y[o*16 + i]"
    "  w[o*16 + i] = bits_i8(y[o*16 + i]) | b[o*16 + i + 1] } }"
    " vectorized k in 0 .. +16 { v[k] = bits_i16(u16(x[k]*40000f)) ^ "
    "i16(c[k]*i32(9999))"
    " } }",
};

static const kiln_program *parse(const char *text) {
    kiln_program *p = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_program_parse(&arena, kiln_str_from(text), NULL, &p, &err), &err);
    kiln_assert_status_ok(kiln_program_optimize(p, NULL, &err), &err);
    return p;
}

static void draw_all(void) {
    kiln_rng rng;
    kiln_err err = {0};
    int n = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int number = 0; n < N_PROGRAMS; number++) {
        assert_true(number < 8 * N_PROGRAMS);
        const kiln_program *p = n < N_WRITTEN ? parse(written[n]) : draw(&rng, number);
        if (p == NULL)
            continue;
        assert_true(p->n_args <= MAX_ARGS);
        drawn *d = &all[n++];
        d->p = p;
        for (int i = 0; i < p->n_args; i++) {
            const kiln_type t = type_of(p->arg[i]);
            d->arg[i] = kiln_tensor_new(&arena, &t).data;
            if (i < p->n_inputs)
                fill_random(&rng, &t, d->arg[i]);
        }
        kiln_assert_status_ok(kiln_program_run(&arena, p, d->arg, NULL, &err), &err);
    }
}

/* ---- the file -------------------------------------------------------------------- */

/* Reads all arguments, calls all functions, writes all arguments. */
static void put_main(kiln_buf *out) {
    size_t bytes = 0, workspace = 64;
    for (int k = 0; k < N_PROGRAMS; k++) {
        for (int i = 0; i < all[k].p->n_args; i++)
            bytes += (bytes_of(all[k].p->arg[i]) + 127) / 64 * 64;
        workspace = all[k].workspace > workspace ? all[k].workspace : workspace;
    }
    kiln_buf_printf(
        out,
        "\n#include <stdio.h>\n"
        "enum { BYTES = %zu };\n"
        "static union { double d; unsigned char b[BYTES]; } memory;\n"
        "static union { double d; unsigned char b[%zu]; } workspace;\n"
        "int main(int argc, char **argv) {\n"
        "    unsigned char *const m = memory.b, *const work = workspace.b;\n"
        "    FILE *f = fopen(argv[argc - 1], \"rb\");\n"
        "    if (f == NULL || fread(m, 1, BYTES, f) != BYTES)\n"
        "        return 1;\n"
        "    fclose(f);\n"
        "    (void)work;\n",
        bytes, workspace);
    size_t at = 0;
    for (int k = 0; k < N_PROGRAMS; k++) {
        const drawn *d = &all[k];
        kiln_buf_printf(out, "    %s(", kiln_c_word(&arena, d->p->name));
        for (int i = 0; i < d->p->n_args; i++) {
            kiln_buf_printf(out, "%s(void *)(m + %zu)", i > 0 ? ", " : "", at);
            at += (bytes_of(d->p->arg[i]) + 127) / 64 * 64;
        }
        kiln_buf_puts(out, d->workspace > 0 ? ", work);\n" : ");\n");
    }
    kiln_buf_puts(out, "    f = fopen(argv[argc - 1], \"wb\");\n"
                       "    if (f == NULL || fwrite(m, 1, BYTES, f) != BYTES)\n"
                       "        return 1;\n"
                       "    return fclose(f) != 0;\n"
                       "}\n");
}

/* Outputs begin as NaN, behind each argument are 0xA5. */
static void write_arguments(const char *path) {
    kiln_buf out;
    kiln_err err = {0};
    kiln_buf_init(&out, &arena);
    for (int k = 0; k < N_PROGRAMS; k++)
        for (int i = 0; i < all[k].p->n_args; i++) {
            const size_t bytes = bytes_of(all[k].p->arg[i]);
            const size_t room = (bytes + 127) / 64 * 64;
            unsigned char *to = kiln_arena_alloc(&arena, room);
            memset(to, 0xA5, room);
            if (i < all[k].p->n_inputs)
                memcpy(to, all[k].arg[i], bytes);
            else
                memset(to, 0xFF, bytes);
            kiln_buf_add(&out, to, room);
        }
    kiln_assert_status_ok(kiln_file_write(path, out.p, out.n, &err), &err);
}

static void read_results(const char *path, const char *compiler) {
    kiln_str file;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(&arena, path, 0, &file, &err), &err);
    size_t at = 0;
    for (int k = 0; k < N_PROGRAMS; k++)
        for (int i = 0; i < all[k].p->n_args; i++) {
            const size_t bytes = bytes_of(all[k].p->arg[i]);
            const size_t room = (bytes + 127) / 64 * 64;
            assert_true(at + room <= file.n);
            compare(all[k].p->arg[i], file.p + at, all[k].arg[i],
                    kiln_format(&arena, "%s by %s", all[k].p->name, compiler));
            for (size_t c = bytes; c < room; c++)
                if ((unsigned char)file.p[at + c] != 0xA5)
                    fail_msg("%s by %s wrote behind '%s'", all[k].p->name, compiler,
                             all[k].p->arg[i]->name);
            at += room;
        }
}

static void prints_all(void **state) {
    kiln_c_unit u;
    kiln_buf text;
    kiln_err err = {0};
    (void)state;
    kiln_arena_init(&arena);
    kiln_assert_status_ok(kiln_dir_temp(&arena, &folder, &err), &err);
    draw_all();
    kiln_c_unit_init(&arena, &kiln_c_dialect_c99, &u);
    for (int k = 0; k < N_PROGRAMS; k++) {
        const kiln_c_function f = {.name = kiln_c_word(&arena, all[k].p->name)};
        kiln_c_printed made;
        kiln_assert_status_ok(kiln_c_print(&u, all[k].p, &f, &made, &err), &err);
        all[k].workspace = made.workspace_bytes;
    }
    kiln_buf_init(&text, &arena);
    kiln_buf_puts(&text, "#include <stdint.h>\n#include <stdio.h>\n"
                         "#if defined(PLAIN)\n#undef __GNUC__\n#endif\n");
    kiln_buf_puts(&text, u.dialect->headers);
    kiln_buf_add(&text, u.helpers.p, u.helpers.n);
    kiln_buf_add(&text, u.functions.p, u.functions.n);
    for (int lanes = 2; lanes <= 16; lanes *= 2) {
        const char *name = kiln_format(&arena, "#define fused_f32x%d(", lanes);
        if (strstr(text.p, name) == NULL)
            fail_msg("nothing is %s", name);
    }
    put_main(&text);
    source = kiln_path_join(&arena, folder, "programs.c");
    kiln_assert_status_ok(kiln_file_write(source, text.p, text.n, &err), &err);
    if (getenv("KILN_KEEP") != NULL)
        kiln_assert_status_ok(
            kiln_file_write(getenv("KILN_KEEP"), text.p, text.n, &err), &err);
}

/* ---- compilers ------------------------------------------------------------------- */

/* False: there is no such program. */
static bool run(const char *const *argv, kiln_process_result *r) {
    kiln_err err = {0};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    return kiln_process_run(&arena, &o, r, &err) == KILN_OK &&
           r->end == KILN_PROCESS_EXITED && r->code != 127;
}

typedef struct toolchain {
    const char *name, *compiler;
    const char *emulator; /* NULL: its code runs here */
    const char *flag, *level;
} toolchain;

/* Without its own word GCC is like any compiler of C99. */
static const toolchain toolchains[] = {
    {"gcc", "gcc", NULL, "-Werror", "-O1"},
    {"clang", "clang", NULL, "-Werror", "-O1"},
    {"plain", "gcc", NULL, "-DPLAIN", "-O0"},
    {"native", "gcc", NULL, "-march=native", "-O1"},
    {"aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64", "-Werror", "-O0"},
    {"i8mm", "aarch64-linux-gnu-gcc", "qemu-aarch64", "-march=armv8.2-a+dotprod+i8mm",
     "-O0"}};

static bool is_here(const char *program) {
    const char *const argv[] = {program, "--version", NULL};
    kiln_process_result r;
    return program == NULL || run(argv, &r);
}

static void printed_is_interpreted(void **state) {
    const toolchain *t = *state;
    kiln_process_result r = {0};
    const char *program = kiln_path_join(&arena, folder, t->name);
    const char *data = kiln_path_join(&arena, folder, "arguments");
    if (!is_here(t->compiler))
        kiln_test_skip("there is no '%s'", t->compiler);
    if (!is_here(t->emulator))
        kiln_test_skip("there is no '%s'", t->emulator);
    const char *const compile[] = {t->compiler, "-std=c99",     t->level,     "-Wall",
                                   "-Wextra",   "-Wconversion", "-Wpedantic", t->flag,
                                   "-static",   source,         "-o",         program,
                                   NULL};
    assert_true(run(compile, &r));
    if (r.code != 0)
        fail_msg("%s refuses: %.*s", t->name, r.err.n < 4000 ? (int)r.err.n : 4000,
                 r.err.p);
    write_arguments(data);
    const char *const here[] = {program, data, NULL};
    const char *const there[] = {t->emulator, program, data, NULL};
    assert_true(run(t->emulator != NULL ? there : here, &r));
    assert_int_equal(r.code, 0);
    read_results(data, t->name);
}

int main(void) {
    kiln_test_add("prints_all", prints_all, NULL);
    for (size_t i = 0; i < sizeof toolchains / sizeof toolchains[0]; i++)
        kiln_test_add(toolchains[i].name, printed_is_interpreted,
                      (void *)(uintptr_t)&toolchains[i]);
    const int code = kiln_test_run("C");
    kiln_arena_fini(&arena);
    return code;
}
