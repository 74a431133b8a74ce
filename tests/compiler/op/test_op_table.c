/* The operator table: every row is complete, in order, and found by its name. */
#include <string.h>

#include "compiler/graph/graph.h"
#include "tests/support/kiln_test.h"

static bool is_name(const char *z) {
    if (z == NULL || z[0] < 'a' || z[0] > 'z')
        return false;
    for (; *z != '\0'; z++) {
        if (!((*z >= 'a' && *z <= 'z') || (*z >= '0' && *z <= '9') || *z == '_'))
            return false;
    }
    return true;
}

static void check_text(const kiln_op_def *op, const char *doc) {
    if (doc == NULL || doc[0] == '\0')
        fail_msg("operator '%s' must say what it and its attributes do", op->name);
}

static void check_attr(const kiln_op_def *op, size_t i) {
    const kiln_attr_def *const def = &op->attr[i];
    check_text(op, def->doc);
    if (!is_name(def->name))
        fail_msg("operator '%s': attribute '%s' must be named in lower case", op->name,
                 def->name == NULL ? "" : def->name);
    for (size_t k = 0; k < i; k++)
        assert_string_not_equal(def->name, op->attr[k].name);
    int64_t n = 0;
    while (def->choices != NULL && def->choices[n] != NULL)
        assert_true(is_name(def->choices[n++]));
    const bool is_word = def->kind == KILN_ATTR_WORD || def->kind == KILN_ATTR_WORDS;
    assert_int_equal(is_word, n > 0);
    if (def->kind == KILN_ATTR_WORD)
        assert_in_range(def->default_i, 0, n - 1);
    if (def->kind == KILN_ATTR_DTYPE)
        assert_in_range(def->default_i, 0, KILN_N_DTYPES - 1);
    if (def->kind == KILN_ATTR_BOOL)
        assert_in_range(def->default_i, 0, 1);
    if (def->kind == KILN_ATTR_GRAPH)
        assert_non_null(op->captures);
}

static void check_row(void **state) {
    const kiln_op_def *const op = *state;
    assert_true(is_name(op->name));
    check_text(op, op->doc);
    assert_non_null(op->infer);
    assert_non_null(op->eval_ref);
    assert_non_null(op->error_bound);
    assert_true(op->n_in_min >= 0 && op->n_in_min <= op->n_in_max);
    assert_true(op->n_out_max == 0
                    ? op->n_out_min == 0
                    : op->n_out_min >= 1 && op->n_out_min <= op->n_out_max);
    assert_true((op->dtypes & ~(unsigned)KILN_DT_STORED) == 0);
    if (op->n_in_max > 0)
        assert_true(op->dtypes != 0);
    for (size_t i = 0; i < op->n_attr; i++)
        check_attr(op, i);
    int n_names = 0;
    while (op->in_names != NULL && op->in_names[n_names] != NULL)
        assert_true(is_name(op->in_names[n_names++]));
    assert_true(n_names <= op->n_in_max);
}

static void check_find(void **state) {
    const kiln_op_def *const op = *state;
    assert_ptr_equal(kiln_op_find(kiln_str_from(op->name)), op);
    /* A name is found whole only. */
    const kiln_str cut = {op->name, strlen(op->name) - 1};
    const kiln_op_def *const other = kiln_op_find(cut);
    assert_true(other == NULL || kiln_str_is(cut, other->name));
}

/* kiln_op_find searches by halves. */
static void check_order(void **state) {
    (void)state;
    for (int i = 1; i < (int)KILN_N_OPS; i++) {
        const char *const before = kiln_op_at(i - 1)->name;
        const char *const here = kiln_op_at(i)->name;
        if (strcmp(before, here) >= 0)
            fail_msg("ops.def must be alphabetical, has '%s' before '%s'", before,
                     here);
    }
}

/* The row's word is also the enumerator and the symbol: they must agree. */
static void check_spelling(void **state) {
    (void)state;
    static const char *const spelling[] = {
#define KILN_OP(name) #name,
#include "compiler/graph/ops.def"
#undef KILN_OP
    };
    for (int i = 0; i < (int)KILN_N_OPS; i++)
        assert_string_equal(kiln_op_at(i)->name, spelling[i]);
    assert_ptr_equal(kiln_op_at(KILN_OP_add), &kiln_op_add);
}

static void check_unknown(void **state) {
    (void)state;
    assert_null(kiln_op_find(KILN_STR_LIT("")));
    assert_null(kiln_op_find(KILN_STR_LIT("zzz")));
    assert_null(kiln_op_find(KILN_STR_LIT("Relu")));
}

int main(void) {
    kiln_test_add("rows_are_alphabetical", check_order, NULL);
    kiln_test_add("rows_spell_their_names", check_spelling, NULL);
    kiln_test_add("finds_no_unknown_operator", check_unknown, NULL);
    for (int i = 0; i < (int)KILN_N_OPS; i++) {
        const kiln_op_def *const op = kiln_op_at(i);
        /* cmocka hands the pointer through as it is; the checks only read. */
        void *const row = (void *)(uintptr_t)op;
        kiln_test_add(kiln_format(kiln_test_arena(), "%s_is_complete", op->name),
                      check_row, row);
        kiln_test_add(kiln_format(kiln_test_arena(), "%s_is_found", op->name),
                      check_find, row);
    }
    return kiln_test_run("op_table");
}
