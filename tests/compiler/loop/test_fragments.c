/* Fragments and copies that come later: how a warp's threads hold a matrix, products by
 * threads as PTX documents their operands, and what the interpreter refuses.
 *
 * The layouts are written down here again from the documentation (NVIDIA, PTX ISA 8.5,
 * 9.7.14.5.8 "Matrix Fragments for mma.m16n8k16 with floating point type" and 9.7.14.5.15
 * "ldmatrix"), by thread and register. */
#include "compiler/loop/fragment.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { SIDE = 16, HALF = 8 };

/* ---- layouts --------------------------------------------------------------------- */

/* "row = groupID for c0, c1; groupID + 8 for c2, c3; col = threadID_in_group * 2 + (i & 1)",
 * of two blocks of 8 columns. */
static void sums_lie_as_documented(void **state) {
    enum { COLUMNS = 64 };
    const kiln_fragment_form form = {COLUMNS, 1};
    bool seen[KILN_WARP][SIDE * COLUMNS / KILN_WARP] = {{false}};
    (void)state;
    for (int block = 0; block < COLUMNS / HALF; block++)
        for (int t = 0; t < KILN_WARP; t++)
            for (int i = 0; i < 4; i++) {
                const int row = t / 4 + (i >= 2 ? 8 : 0);
                const int column = block * HALF + t % 4 * 2 + (i & 1);
                assert_int_equal(kiln_fragment_thread(row, column, 1), t);
                assert_int_equal(kiln_fragment_element(row, column, form),
                                 block * 4 + i);
                seen[t][block * 4 + i] = true;
            }
    for (int t = 0; t < KILN_WARP; t++)
        for (int i = 0; i < SIDE * COLUMNS / KILN_WARP; i++)
            assert_true(seen[t][i]);
    assert_int_equal(kiln_fragment_element(16, 0, form), COLUMNS / HALF * 4);
}

/* 9.7.14.7.1.3, "Register Fragments for wgmma.mma_async.m64nNk16": warp w of the group has rows
 * 16 w and on, as those of mma. */
static void sums_of_warpgroups_lie_as_documented(void **state) {
    enum { COLUMNS = 128 };
    const kiln_fragment_form form = {COLUMNS, KILN_WARPGROUP};
    (void)state;
    for (int block = 0; block < COLUMNS / HALF; block++)
        for (int t = 0; t < KILN_WARPGROUP * KILN_WARP; t++)
            for (int i = 0; i < 4; i++) {
                const int row = t / 32 * 16 + t % 32 / 4 + (i >= 2 ? 8 : 0);
                const int column = block * HALF + t % 4 * 2 + (i & 1);
                assert_int_equal(kiln_fragment_thread(row, column, form.warps), t);
                assert_int_equal(kiln_fragment_element(row, column, form),
                                 block * 4 + i);
            }
    assert_int_equal(kiln_fragment_element(64, 0, form), COLUMNS / HALF * 4);
}

/* What ldmatrix.x4 gives each thread: matrix i, row r is where thread 8 i + r names it; thread
 * t gets elements 2 (t % 4) and the next of row t / 4, transposed of column t / 4. */
static void load_x4(const int *memory, int row, bool along_rows, bool transposes,
                    int out[KILN_WARP][4][2]) {
    for (int t = 0; t < KILN_WARP; t++)
        for (int i = 0; i < 4; i++)
            for (int e = 0; e < 2; e++) {
                const int r = transposes ? t % 4 * 2 + e : t / 4;
                const int c = transposes ? t / 4 : t % 4 * 2 + e;
                int named_row = 0, named_column = 0;
                kiln_fragment_named(8 * i + r, along_rows, &named_row, &named_column);
                out[t][i][e] = memory[named_row * row + named_column * HALF + c];
            }
}

/* d += a * b of 16 x 8 x 16, each operand where its thread's registers have it. */
static void multiply(int d[SIDE][SIDE], int first, int a[KILN_WARP][4][2],
                     int b[KILN_WARP][4][2], int half) {
    int x[SIDE][SIDE], y[SIDE][HALF];
    for (int t = 0; t < KILN_WARP; t++)
        for (int i = 0; i < 4; i++)
            for (int e = 0; e < 2; e++) {
                /* "row = groupID for a0, a1, a4, a5; col = threadID_in_group * 2 + (i &
                 * 1), + 8 for i >= 4": pairs are registers. */
                x[t / 4 + (i & 1) * 8][t % 4 * 2 + e + (i >> 1) * 8] = a[t][i][e];
                if (i < 2) /* "row = threadID_in_group * 2 + (i & 1), + 8 for i >= 2" */
                    y[t % 4 * 2 + e + i * 8][t / 4] = b[t][2 * half + i][e];
            }
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < HALF; j++)
            for (int k = 0; k < SIDE; k++)
                d[i][first + j] += x[i][k] * y[k][j];
}

/* Operands come as the code generator asks for them, and make the product. */
static void products_are_those_declared(void **state) {
    enum { A_ROW = 40, B_ROW = 24 };
    (void)state;
    for (int along_k = 0; along_k < 2; along_k++) {
        int a[SIDE * A_ROW], b[SIDE * B_ROW], d[SIDE][SIDE] = {{0}};
        int ra[KILN_WARP][4][2], rb[KILN_WARP][4][2];
        for (int i = 0; i < SIDE * A_ROW; i++)
            a[i] = i * 7 % 23 - 11;
        for (int i = 0; i < SIDE * B_ROW; i++)
            b[i] = i * 5 % 19 - 9;
        load_x4(a, A_ROW, false, false, ra);
        load_x4(b, B_ROW, along_k == 1, along_k == 0, rb);
        multiply(d, 0, ra, rb, 0);
        multiply(d, HALF, ra, rb, 1);
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) {
                int sum = 0;
                for (int k = 0; k < SIDE; k++)
                    sum +=
                        a[i * A_ROW + k] * b[along_k ? j * B_ROW + k : k * B_ROW + j];
                assert_int_equal(d[i][j], sum);
            }
    }
}

/* Rows that are so far apart as templates have them: each of the four matrices' eight rows
 * of 16 bytes lie in banks of their own. */
static void rows_lie_in_different_banks(void **state) {
    static const int halves[] = {16 + 8, 32 + 8, 64 + 8, 128 + 8, 256 + 8};
    (void)state;
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++)
        for (int matrix = 0; matrix < 8; matrix++) {
            unsigned banks = 0;
            for (int r = 0; r < HALF; r++) {
                int row = 0, column = 0;
                kiln_fragment_named(matrix / 2 * HALF + r, matrix % 2 == 1, &row,
                                    &column);
                banks |= 1u << ((row * halves[i] + column * HALF) / 8 % 8);
            }
            assert_int_equal(banks, 0xff);
        }
}

/* ---- the interpreter ------------------------------------------------------------- */

typedef struct row {
    const char *name, *body, *says; /* NULL: it runs */
} row;

#define RESET                                                                          \
    "program mma_f16.reset(out c: f32[256]) flat {\n"                                  \
    "  for i in 0 .. +256 {\n    c[i] = 0f\n  }\n}\n"
#define FRAGMENT(wait, index)                                                          \
    "  thread \"threadIdx.y\" w in 0 .. +2 {\n"                                        \
    "    alloc t: f32[256] fragment {\n      call mma_f16.reset(t)\n"                  \
    "      thread \"threadIdx.x\" l in 0 .. +32 {\n" wait                              \
    "        y[w*32 + l] = t[" index "]\n      }\n    }\n  }\n"
#define COPY(groups, after)                                                            \
    "  thread \"threadIdx.x\" l in 0 .. +32 {\n    alloc s: f32[32] shared {\n"        \
    "      @async = " groups " {\n        s[l] = x[l]\n      }\n" after                \
    "      y[l] = s[l]\n    }\n  }\n"

/* A warpgroup multiplies s, 64 rows of 64, by t, 128 columns of 64; `after` looks at the sums,
 * or writes what was multiplied. */
#define WGMMA                                                                          \
    "program wgmma_f16_t.reset(out c: f32[8192]) flat {\n"                             \
    "  for i in 0 .. +64 {\n    for p in 0 .. +2 {\n      for j in 0 .. +64 {\n"       \
    "        c[i*128 + p*64 + j] = 0f\n      }\n    }\n  }\n}\n"                       \
    "program wgmma_f16_t.update(a: f16[4048], b: f16[8144], out c: f32[8192]) flat "   \
    "{\n  for i in 0 .. +64 {\n    for p in 0 .. +2 {\n      for j in 0 .. +64 {\n"    \
    "        for k in 0 .. +16 {\n          c[i*128 + p*64 + j] = c[i*128 + p*64 + j]" \
    " + f32(a[i*64 + k])*f32(b[p*4096 + j*64 + k])\n        }\n      }\n    }\n  "     \
    "}\n}\n"
#define MULTIPLY(groups, after)                                                        \
    "  thread \"threadIdx.y\" w in 0 .. +1 {\n"                                        \
    "  alloc s: f16[4096] shared {\n    alloc t: f16[8192] shared {\n"                 \
    "      alloc c: f32[8192] fragment {\n"                                            \
    "        thread \"threadIdx.x\" l in 0 .. +128 {\n"                                \
    "          for i in 0 .. +64 {\n            t[l*64 + i] = f16(1f)\n          }\n"  \
    "          for j in 0 .. +32 {\n            s[l*32 + j] = f16(1f)\n          }\n"  \
    "        }\n        barrier shared\n        call wgmma_f16_t.reset(c)\n"           \
    "        @products = " groups                                                      \
    " {\n          call wgmma_f16_t.update(s, t, c)\n        }\n" after                \
    "      }\n    }\n  }\n  }\n"
#define LOOK                                                                           \
    "        thread \"threadIdx.x\" l in 0 .. +128 {\n          if l < 64 {\n"         \
    "            y[l] = c[(l // 32*16 + l % 32 // 4)*128 + l % 4*2]\n          }\n"    \
    "        }\n"
#define WRITE                                                                          \
    "        thread \"threadIdx.x\" l in 0 .. +128 {\n"                                \
    "          if l < 64 {\n            s[l] = f16(0f)\n            y[l] = 0f\n"       \
    "          }\n        }\n"

static row rows[] = {
    {"sums_that_were_waited_for", MULTIPLY("0", "barrier global\n" LOOK), NULL},
    {"sums_that_nobody_waited_for", MULTIPLY("1", "barrier global\n" LOOK),
     "which products still add to"},
    {"an_empty_group_waits", MULTIPLY("1", "@products = 1 {\n}\nbarrier global\n" LOOK),
     NULL},
    {"operands_that_were_multiplied", MULTIPLY("0", "barrier shared\n" WRITE), NULL},
    {"operands_that_are_multiplied", MULTIPLY("1", "barrier shared\n" WRITE),
     "which products still read"},
    {"each_reads_what_it_holds",
     FRAGMENT("barrier global\n", "l // 4*16 + l % 4*2 + 1"), NULL},
    {"another_holds_it", FRAGMENT("barrier global\n", "l"),
     "of a fragment, which thread ("},
    {"no_barrier_before_it_is_read", FRAGMENT("", "l // 4*16 + l % 4*2"), "race: "},
    {"a_barrier_waits_for_copies", COPY("0", "barrier shared\n"), NULL},
    {"nobody_waits_for_copies", COPY("0", ""), "which is still being copied"},
    {"a_barrier_leaves_the_last_group", COPY("1", "barrier shared\n"),
     "which is still being copied"},
    {"empty_groups_count", COPY("1", "@async = 1 {\n}\nbarrier shared\n"), NULL},
};

static void interprets(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_program *p = NULL;
    kiln_err err = {0};
    float x[64] = {0}, y[64];
    void *arg[] = {x, y};
    const char *text = kiln_format(
        a, RESET WGMMA "program p(x: f32[64], out y: f32[64]) flat {\n%s}\n", r->body);
    kiln_assert_status_ok(kiln_program_parse(a, kiln_str_from(text), NULL, &p, &err),
                          &err);
    for (uint64_t seed = 0; seed < 3; seed++) {
        const kiln_loop_run_options o = {.seed = seed};
        const kiln_status st = kiln_program_run(a, p, arg, &o, &err);
        if (r->says == NULL)
            kiln_assert_status_ok(st, &err);
        else if (st == KILN_OK || strstr(err.text, r->says) == NULL)
            fail_msg("must say '%s', says '%s'", r->says, err.text);
    }
}

int main(void) {
    kiln_test_add("sums_lie_as_documented", sums_lie_as_documented, NULL);
    kiln_test_add("sums_of_warpgroups_lie_as_documented",
                  sums_of_warpgroups_lie_as_documented, NULL);
    kiln_test_add("products_are_those_declared", products_are_those_declared, NULL);
    kiln_test_add("rows_lie_in_different_banks", rows_lie_in_different_banks, NULL);
    kiln_test_add_rows(interprets, rows);
    return kiln_test_run("fragments");
}
