/* Registers that bodies want: programs whose values can be counted by hand, and code that
 * spills or does not. */
#include "compiler/schedule/registers.h"

#include "tests/support/kiln_test.h"

static kiln_registers of_text(const char *profile, const char *text) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_program *program;
    kiln_assert_status_ok(kiln_profile_find(a, profile, &p, &err), &err);
    kiln_assert_status_ok(
        kiln_program_parse(a, kiln_str_from(text), NULL, &program, &err), &err);
    return kiln_registers_of(a, &p, program);
}

/* Sums in t, of x (vectors) and w (an element for all lanes). */
#define PROGRAM(body)                                                                  \
    "program k(x: f32[4096], w: f32[4096], out y: f32[64]) flat {\n"                   \
    "  alloc t: f32[64] register {\n" body "  }\n}\n"
#define LOOP(body) "    for i in 0 .. +8 {\n" body "    }\n"
#define SUM(at, x, w)                                                                  \
    "      t[ramp(" at ", 1, 8)] = t[ramp(" at ", 1, 8)] + "                           \
    "x[ramp(" x ", 1, 8)]*x8(w[" w "])\n"

typedef struct row {
    const char *name, *text;
    int vectors, guards; /* for AVX2 */
} row;

static row rows[] = {
    /* A sum, and the element in all lanes; what is read once is an operand. */
    {"one_sum", PROGRAM(LOOP(SUM("0", "i*8", "i"))), 2, 0},
    {"a_vector_read_twice_is_kept",
     PROGRAM(LOOP(SUM("0", "i*8", "i") SUM("8", "i*8", "i + 8"))), 4, 0},
    {"an_element_read_twice_is_one",
     PROGRAM(LOOP(SUM("0", "i*8", "i") SUM("8", "i*8 + 64", "i"))), 3, 0},
    {"elements_come_and_go",
     PROGRAM(LOOP(SUM("0", "i*8", "i") SUM("0", "i*8 + 64", "i + 8")
                      SUM("0", "i*8 + 128", "i + 16"))),
     2, 0},
    /* Made, summed up and stored inside: alive from there to there. */
    {"a_sum_of_the_body_ends_in_it",
     PROGRAM(LOOP("      t[ramp(0, 1, 8)] = x8(0f)\n" SUM(
         "0", "i*8", "i") "      y[ramp(0, 1, 8)] = t[ramp(0, 1, 8)]\n"
                          "      t[ramp(8, 1, 8)] = x8(0f)\n" SUM(
                              "8", "i*8 + 64",
                              "i + 8") "      y[ramp(8, 1, 8)] = t[ramp(8, 1, 8)]\n")),
     2, 0},
    {"wide_vectors_are_several",
     PROGRAM(LOOP("      t[ramp(0, 1, 32)] = t[ramp(0, 1, 32)] + x[ramp(i*32, 1, 32)]"
                  "*x32(w[i])\n")),
     4 + 1, 0},
    {"branches_count_by_themselves",
     PROGRAM(LOOP("      if i < 5 {\n" SUM("0", "i*8", "i") "      }\n"
                                                            "      if i < 6 {\n" SUM(
                                                                "8", "i*8 + 64",
                                                                "i + 8") "      }\n")),
     3, 2},
    {"what_adds_nothing_up_does_not_count",
     PROGRAM(LOOP("      y[ramp(0, 1, 8)] = x[ramp(0, 1, 8)]*x8(w[0])\n")), 0, 0},
    {"the_innermost_loops_count",
     PROGRAM(
         LOOP("      for j in 0 .. +2 {\n" SUM("0", "i*16 + j*8", "i") "      }\n" SUM(
             "8", "i*8 + 64", "i + 8") SUM("16", "i*8 + 128", "i + 16"))),
     2, 0},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void wants(void **state) {
    const row *r = *state;
    const kiln_registers got = of_text("x86-avx2", r->text);
    if (got.vectors != r->vectors || got.guards != r->guards)
        fail_msg("it wants %d vectors and has %d branches, must be %d and %d",
                 got.vectors, got.guards, r->vectors, r->guards);
}

/* A vector of 16 floats is one register or two. */
static void counts_in_the_machines_vectors(void **state) {
    static const char text[] = PROGRAM(
        LOOP("      t[ramp(0, 1, 16)] = t[ramp(0, 1, 16)] + x[ramp(i*16, 1, 16)]"
             "*x16(w[i])\n"));
    (void)state;
    assert_int_equal(of_text("x86-avx2", text).vectors, 3);
    assert_int_equal(of_text("x86-avx512", text).vectors, 2);
}

int main(void) {
    for (int i = 0; i < N_ROWS; i++)
        kiln_test_add(rows[i].name, wants, &rows[i]);
    kiln_test_add("counts_in_the_machines_vectors", counts_in_the_machines_vectors,
                  NULL);
    return kiln_test_run("registers");
}
