/* Transpositions by the generic template: random permutations of random shapes, alone and
 * with what is computed around them, equal the reference, interpreted and compiled; which
 * are turned in registers, and by what instructions. Values are moved, added and
 * compared: f32 rounds once. */
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

#include <string.h>

static kiln_value *transposed(kiln_graph *g, kiln_value *x, const int64_t *perm) {
    const kiln_attr_arg arg = kiln_arg_ints("perm", perm, (size_t)x->type.rank);
    return graph_node_with(g, &kiln_op_transpose, &x, 1, &arg, 1);
}

static void shuffle(kiln_rng *rng, int64_t *perm, int n) {
    for (int i = 0; i < n; i++)
        perm[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)kiln_rng_range(rng, 0, i);
        const int64_t t = perm[i];
        perm[i] = perm[k];
        perm[k] = t;
    }
}

/* x in another order; behind it an activation, an operand as y lies, or another that
 * comes in the same order. */
static kiln_graph *random_transpose(kiln_arena *a, kiln_rng *rng,
                                    const template_property *p) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 33};
    int64_t dim[KILN_MAX_RANK], perm[KILN_MAX_RANK];
    const int rank = (int)kiln_rng_range(rng, 2, 4);
    for (int i = 0; i < rank; i++)
        dim[i] = random_pick(rng, sizes, rank == 2 ? 12 : rank == 3 ? 9 : 6);
    shuffle(rng, perm, rank);
    const kiln_type t = kiln_type_make(p->dtype, rank, dim);
    kiln_graph *g = kiln_graph_new(a, "transpose");
    kiln_value *x = random_operand(g, "x", &t, false, 0);
    kiln_value *y = transposed(g, x, perm);
    const int64_t kind = kiln_rng_range(rng, 0, 3);
    const kiln_type ty = kiln_type_make(p->dtype, rank, y->type.dim);
    if (kind == 1)
        y = graph_node(g, &kiln_op_neg, &y, 1);
    if (kind >= 2) {
        kiln_value *z = kind == 2
                            ? random_operand(g, "z", &ty, false, 1)
                            : transposed(g, random_operand(g, "z", &t, false, 1), perm);
        kiln_value *in[2] = {y, z};
        y = graph_node(g, &kiln_op_add, in, 2);
    }
    kiln_graph_add_output(g, y, "y");
    return g;
}

static template_property properties[] = {
    {"f32_is_the_reference", KILN_F32, 1e-6, 1e-6, 80, NULL},
    {"f64_is_the_reference", KILN_F64, 1e-12, 1e-12, 32, NULL},
    {"f16_is_the_reference", KILN_F16, 2e-3, 2e-3, 32, NULL},
    {"i8_is_the_reference", KILN_I8, 0, 0, 32, NULL},
    {"i64_is_the_reference", KILN_I64, 0, 0, 16, NULL},
};

static void random_permutations(void **state) {
    template_property_check(*state, &kiln_template_generic, random_transpose);
}

/* ---- code ------------------------------------------------------------------------ */

typedef struct code_row {
    const char *name, *profile, *text;
    const char *has;   /* in the loop program; NULL: nothing is turned */
    const char *lacks; /* in the assembly */
} code_row;

#define TRANSPOSE(type, perm)                                                          \
    "graph \"g\" { input %x : " type " %y = transpose(%x) {perm=" perm "} output %y }"

static code_row code_rows[] = {
    {"avx512_matrix", "x86-avx512", TRANSPOSE("f32[256,256]", "[1,0]"),
     "turned4: f32[256] register", "vpermt2ps|vinsertps|vscatter|vgather"},
    {"avx512_doubles", "x86-avx512", TRANSPOSE("f64[64,64]", "[1,0]"),
     "turned3: f64[64] register", "vpermt2pd|vmovhp|vscatter|vgather"},
    {"avx2_matrix", "x86-avx2", TRANSPOSE("f32[256,256]", "[1,0]"),
     "turned3: f32[64] register", "vinsertps|vgather"},
    {"avx2_bytes", "x86-avx2", TRANSPOSE("i8[64,64]", "[1,0]"),
     "turned3: i8[64] register", "vpinsrb"},
    {"aarch64_matrix", "aarch64", TRANSPOSE("f32[256,256]", "[1,0]"),
     "turned2: f32[16] register", "ld1\t{ v0.s }[|ins\tv"},
    {"rows_that_no_vector_divides", "x86-avx512", TRANSPOSE("f32[197,768]", "[1,0]"),
     "turned4: f32[256] register", "vpermt2ps"},
    {"keys_of_heads", "x86-avx512", TRANSPOSE("f32[1,128,12,64]", "[0,2,3,1]"),
     "turned4: f32[256] register", "vpermt2ps|vinsertps"},
    {"channels_last", "x86-avx512", TRANSPOSE("f32[1,64,56,56]", "[0,2,3,1]"),
     "turned4: f32[256] register", "vpermt2ps|vinsertps"},
    {"last_axis_stays", "x86-avx512", TRANSPOSE("f32[1,128,12,64]", "[0,2,1,3]"), NULL,
     "vinsertps|vpermt2ps"},
};

static void code_is_as_said(void **state) {
    const code_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g;
    kiln_workload w;
    kiln_profile p;
    kiln_space s;
    kiln_scheduled x;
    kiln_program *program;
    kiln_buf text;
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(r->text), "text", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_profile_find(a, r->profile, &p, &err), &err);
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    const template_check t = {.tmpl = &kiln_template_generic, .profile = &p};
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t.tmpl->space(&w, &p, &s, &err), &err);
    const kiln_config c = t.tmpl->guess(&w, &p, &s);
    kiln_assert_status_ok(kiln_template_apply(a, t.tmpl, &w, &p, &s, &c, &x, &err),
                          &err);
    kiln_assert_status_ok(kiln_scheduled_program(a, &x, "f", &program, &err), &err);
    kiln_buf_init(&text, a);
    kiln_program_print(&text, program);
    if (strstr(text.p, r->has != NULL ? r->has : "turned") == NULL)
        assert_null(r->has);
    else
        assert_non_null(r->has);
    const kiln_str code = template_assembly(a, &t, &w, &s, &c, &err);
    assert_non_null(code.p);
    const char *all = kiln_format(a, "%.*s", KILN_STR_ARG(code));
    for (const char *word = r->lacks; *word != '\0';) {
        const size_t n = strcspn(word, "|");
        if (strstr(all, kiln_format(a, "%.*s", (int)n, word)) != NULL)
            fail_msg("%s has %.*s in it", r->name, (int)n, word);
        word += n + (word[n] == '|');
    }
}

int main(void) {
    kiln_test_add_rows(random_permutations, properties);
    kiln_test_add_rows(code_is_as_said, code_rows);
    return kiln_test_run("transposes");
}
