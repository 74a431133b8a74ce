/* The table of PyTorch's operators: every row meets arguments of every kind, most of
 * which fit nothing. Each call is refused or makes nodes that verify. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { N_CALLS = 60, MAX_GIVEN = 9 }; /* of a row; arguments of a call */

static const char *name_of(kiln_import_cx *cx, const void *site) {
    (void)cx;
    return site;
}

static const char *out_name(kiln_import_cx *cx, const void *site, int i) {
    (void)cx;
    (void)i;
    return site;
}

static const kiln_import_format format = {.node_name = name_of, .out_name = out_name};

/* Values that arguments are drawn from: tensors of the first, and what comes of them. */
typedef struct pool {
    kiln_import_cx cx;
    kiln_value *tensor[8];
    int64_t n_tensors;
    kiln_rng *rng;
} pool;

static kiln_value *any_tensor(pool *p) {
    return p->tensor[kiln_rng_range(p->rng, 0, p->n_tensors - 1)];
}

static kiln_aten_value any(pool *p, int depth) {
    static const char *const words[] = {"none", "tanh",  "floor",  "same",
                                        "ij",   "i,j->", "reflect"};
    switch (kiln_rng_range(p->rng, 0, depth > 0 ? 8 : 6)) {
    case 0:
        return kiln_aten_none();
    case 1:
        return kiln_aten_of_int(kiln_rng_range(p->rng, -2, 4));
    case 2:
        return kiln_aten_of_float((double)kiln_rng_range(p->rng, -2, 4) / 2);
    case 3:
        return kiln_aten_of_bool(kiln_rng_range(p->rng, 0, 1) == 1);
    case 4:
        return kiln_aten_of_string(kiln_str_from(words[kiln_rng_range(p->rng, 0, 6)]));
    case 5:
        return kiln_aten_of_dtype(kiln_rng_range(p->rng, 0, 1) == 1 ? KILN_I64
                                                                    : KILN_F16);
    case 6:
        return kiln_aten_of_tensor(any_tensor(p));
    default:
        break;
    }
    const size_t n = (size_t)kiln_rng_range(p->rng, 0, 4);
    const bool is_ints = kiln_rng_range(p->rng, 0, 1) == 1;
    kiln_aten_value *const v = kiln_array(&p->cx.scratch, kiln_aten_value, n);
    for (size_t i = 0; i < n; i++)
        v[i] = is_ints ? kiln_aten_of_int(kiln_rng_range(p->rng, -1, 4)) : any(p, 0);
    return kiln_aten_of_list(v, n);
}

static void fill(pool *p, kiln_arena *a, kiln_err *err) {
    static const int64_t shape[] = {2, 4, 4, 3, 2};
    kiln_import_begin(&p->cx, &format, a, err);
    p->cx.graph = kiln_graph_new(a, "table");
    p->n_tensors = 0;
    for (int rank = 0; rank <= 5; rank++) {
        const kiln_type t = kiln_type_make(KILN_F32, rank, shape);
        p->tensor[p->n_tensors++] = kiln_graph_add_input(p->cx.graph, "x", &t);
    }
    const kiln_type index = kiln_type_make(KILN_I64, 1, shape);
    const kiln_type mask = kiln_type_make(KILN_BOOL, 2, shape);
    p->tensor[p->n_tensors++] = kiln_graph_add_input(p->cx.graph, "i", &index);
    p->tensor[p->n_tensors++] = kiln_graph_add_input(p->cx.graph, "m", &mask);
}

static void call_row(const char *name, kiln_rng *rng) {
    for (int i = 0; i < N_CALLS; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        pool p = {.rng = rng};
        kiln_aten_value arg[MAX_GIVEN], out[KILN_ATEN_MAX_OUT];
        size_t n_out = 0;
        fill(&p, &a, &err);
        const kiln_aten_call call = {.op = kiln_str_from(name),
                                     .site = name,
                                     .arg = arg,
                                     .n_arg =
                                         (size_t)kiln_rng_range(rng, 1, MAX_GIVEN)};
        for (size_t k = 0; k < call.n_arg; k++)
            arg[k] =
                k == 0 && i % 4 != 0 ? kiln_aten_of_tensor(any_tensor(&p)) : any(&p, 1);
        const kiln_status st = kiln_aten_run(&p.cx, &call, out, &n_out);
        assert_int_equal(st, err.status);
        if (st == KILN_OK)
            kiln_assert_status_ok(kiln_graph_verify(p.cx.graph, &err), &err);
        else
            assert_true(err.len > 0);
        kiln_import_end(&p.cx);
        kiln_arena_fini(&a);
    }
}

static void every_row_meets_arguments_of_every_kind(void **state) {
    (void)state;
    static const char *const names[] = {
#define KILN_ATEN(name, maker, op, schema) name,
#include "compiler/frontend/pytorch/aten/aten.def"
#undef KILN_ATEN
    };
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        call_row(names[i], &rng);
}

/* ---- names ------------------------------------------------------------------------ */

static void names_are_found_in_every_spelling(void **state) {
    (void)state;
    static const char *const relu[] = {"relu", "aten::relu",
                                       "torch.ops.aten.relu.default", "relu_",
                                       "aten.relu_.default"};
    for (size_t i = 0; i < sizeof relu / sizeof relu[0]; i++) {
        const kiln_aten_row *const row = kiln_aten_find(kiln_str_from(relu[i]));
        assert_non_null(row);
        assert_string_equal(row->name, "relu");
        assert_int_equal(kiln_aten_writes(kiln_str_from(relu[i])), i > 2);
    }
    assert_string_equal(kiln_aten_find(KILN_STR_LIT("arange.start_step"))->name,
                        "arange.start_step");
    assert_string_equal(kiln_aten_find(KILN_STR_LIT("add_.Tensor"))->name, "add");
    assert_null(kiln_aten_find(KILN_STR_LIT("nothing")));
    assert_null(kiln_aten_find(KILN_STR_LIT("")));
    assert_false(kiln_aten_writes(KILN_STR_LIT("__and__")));
    assert_true(kiln_aten_is_view(KILN_STR_LIT("aten.select.int")));
    assert_false(kiln_aten_is_view(KILN_STR_LIT("aten.clone.default")));
}

int main(void) {
    kiln_test_add("every_row_meets_arguments_of_every_kind",
                  every_row_meets_arguments_of_every_kind, NULL);
    kiln_test_add("names_are_found_in_every_spelling",
                  names_are_found_in_every_spelling, NULL);
    return kiln_test_run("pytorch_table");
}
