/* Pickles as torch writes them, and hostile ones: nothing of them runs, and each that is
 * refused names the byte. */
#include <string.h>

#include "compiler/frontend/pytorch/pickle/pickle.h"
#include "tests/support/damage.h"
#include "tests/support/kiln_test.h"

static void show(kiln_buf *b, const kiln_pickle_value *v);

static void show_items(kiln_buf *b, const kiln_pickle_value *v, const char *open,
                       const char *shut) {
    kiln_buf_puts(b, open);
    for (size_t i = 0; i < v->item.n; i++) {
        kiln_buf_puts(b, i > 0 ? " " : "");
        show(b, v->item.v[i]);
    }
    kiln_buf_puts(b, shut);
}

static void show(kiln_buf *b, const kiln_pickle_value *v) {
    switch (v->kind) {
    case KILN_PICKLE_NONE:
        kiln_buf_puts(b, "None");
        break;
    case KILN_PICKLE_BOOL:
        kiln_buf_puts(b, v->i != 0 ? "True" : "False");
        break;
    case KILN_PICKLE_INT:
        kiln_buf_printf(b, "%lld", (long long)v->i);
        break;
    case KILN_PICKLE_FLOAT:
        kiln_buf_printf(b, "%g", v->f);
        break;
    case KILN_PICKLE_STR:
        kiln_buf_printf(b, "'%.*s'", KILN_STR_ARG(v->s));
        break;
    case KILN_PICKLE_BYTES:
        kiln_buf_printf(b, "b'%.*s'", KILN_STR_ARG(v->s));
        break;
    case KILN_PICKLE_TUPLE:
        show_items(b, v, "(", ")");
        break;
    case KILN_PICKLE_LIST:
        show_items(b, v, "[", "]");
        break;
    case KILN_PICKLE_DICT:
        show_items(b, v, "{", "}");
        break;
    case KILN_PICKLE_GLOBAL:
        kiln_buf_printf(b, "%.*s.%.*s", KILN_STR_ARG(v->module), KILN_STR_ARG(v->s));
        break;
    case KILN_PICKLE_OBJECT:
        kiln_buf_printf(b, "%.*s.%.*s", KILN_STR_ARG(v->module), KILN_STR_ARG(v->s));
        show(b, v->args);
        if (v->state != NULL)
            show(b, v->state);
        break;
    case KILN_PICKLE_STORAGE:
        kiln_buf_puts(b, "storage");
        show(b, v->args);
        break;
    }
}

/* ---- what is read ---------------------------------------------------------------- */

typedef struct row {
    const char *name;
    kiln_str bytes;
    const char *want; /* or of the message */
    kiln_status fails;
} row;

#define S(text)                                                                        \
    { (text), sizeof(text) - 1 }
#define P(text) S("\x80\x02" text)

static row rows[] = {
    {"numbers", P("(NK\x07M\x01\x02J\xff\xff\xff\xff\x8a\x01\x80\x8a\0\x88\x89t."),
     "(None 7 513 -1 -128 0 True False)", KILN_OK},
    {"floats_are_big_endian", P("G\x3f\xf8\0\0\0\0\0\0."), "1.5", KILN_OK},
    {"texts",
     P("X\x02\0\0\0abU\x01"
       "cC\x01"
       "d\x87."),
     "('ab' 'c' b'd')", KILN_OK},
    {"lists_and_dicts",
     P("}(X\x01\0\0\0a](K\x01K\x02"
       "eX\x01\0\0\0b]K\x03"
       "au."),
     "{'a' [1 2] 'b' [3]}", KILN_OK},
    {"the_memo",
     P("]q\x02K\x01"
       "ah\x02\x86."),
     "([1] [1])", KILN_OK},
    {"frames_and_memos_of_protocol_4",
     S("\x80\x04\x95\x0a\0\0\0\0\0\0\0\x8c\x01"
       "a\x94h\0\x86."),
     "('a' 'a')", KILN_OK},
    {"objects_and_their_states", P("c__torch__\nNet\n)\x81}(X\x01\0\0\0aK\x01ub."),
     "__torch__.Net(){'a' 1}", KILN_OK},
    {"lists_with_a_type",
     P("ctorch.jit._pickle\nbuild_intlist\n](K\x01K\x02"
       "e\x85R."),
     "[1 2]", KILN_OK},
    {"ordered_dicts", P("ccollections\nOrderedDict\n)RK\x01K\x02s."), "{1 2}", KILN_OK},
    {"storages", P("(K\x01tQ."), "storage(1)", KILN_OK},

    {"calls_of_the_system", P("cos\nsystem\nX\x02\0\0\0ls\x85R."),
     "test.pkl: byte 2 needs 'os.system' of Python, whose code is not in the file, and "
     "kiln runs none; save the model with torch.jit.save or torch.export.save",
     KILN_ERR_UNSUPPORTED},
    {"names_from_the_stack", P("X\x02\0\0\0osX\x06\0\0\0system\x93."),
     "needs 'os.system' of Python", KILN_ERR_UNSUPPORTED},
    {"modules_of_a_similar_name", P("ctorchvision\nNet\n)R."),
     "needs 'torchvision.Net' of Python", KILN_ERR_UNSUPPORTED},
    {"memos_that_are_not_there", P("h\x01."), "a memo that is not there at byte 2",
     KILN_ERR_PARSE},
    {"memos_out_of_range", P("Nr\xff\xff\xff\x7f."), "a memo out of its range",
     KILN_ERR_PARSE},
    {"lists_in_themselves",
     P("]q\x01h\x01"
       "a."),
     "a value that holds itself", KILN_ERR_PARSE},
    {"sizes_past_the_end",
     P("X\xff\xff\xff\xff"
       "a."),
     "the pickle ends early at byte 2", KILN_ERR_PARSE},
    {"sizes_of_8_bytes", P("\x8d\xff\xff\xff\xff\xff\xff\xff\xff."),
     "the pickle ends early", KILN_ERR_PARSE},
    {"integers_too_long", P("\x8a\x09\1\1\1\1\1\1\1\1\1."),
     "an integer of more than 64 bits", KILN_ERR_PARSE},
    {"empty_stacks", P("a."), "an empty stack", KILN_ERR_PARSE},
    {"stacks_below_a_mark", P("N(0."), "an empty stack", KILN_ERR_PARSE},
    {"marks_that_are_not_there", P("t."), "a mark that is not there", KILN_ERR_PARSE},
    {"items_of_numbers",
     P("K\x01K\x02"
       "a."),
     "items of what is no container", KILN_ERR_PARSE},
    {"keys_without_a_value", P("}(K\x01u."), "a key without a value", KILN_ERR_PARSE},
    {"calls_of_numbers", P("K\x01)R."), "a call of what is no name", KILN_ERR_PARSE},
    {"states_of_numbers", P("K\x01Nb."), "a state of what is no object",
     KILN_ERR_PARSE},
    {"unknown_opcodes", P("\x05."), "opcode 0x05 at byte 2 is none that torch writes",
     KILN_ERR_PARSE},
    {"two_values", P("NN."), "an end with more or less than one value", KILN_ERR_PARSE},
    {"no_end", P("N"), "the pickle ends early", KILN_ERR_PARSE},
    {"names_without_an_end", P("ctorch"), "a name without its end", KILN_ERR_PARSE},
    {"nothing", S(""), "the pickle ends early at byte 0", KILN_ERR_PARSE},
};

static void check(void **state) {
    const row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf b;
    const kiln_pickle_value *v = NULL;
    const kiln_status st = kiln_pickle_read(&a, r->bytes, "test.pkl", &v, &err);
    if (r->fails != KILN_OK) {
        kiln_assert_fails(st, r->fails, &err, r->want);
    } else {
        kiln_assert_status_ok(st, &err);
        kiln_buf_init(&b, &a);
        show(&b, v);
        assert_string_equal(b.p, r->want);
    }
    kiln_arena_fini(&a);
}

static void depth_is_bounded(void **state) {
    (void)state;
    enum { DEPTH = 100000 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_buf b;
    const kiln_pickle_value *v = NULL;
    kiln_buf_init(&b, &a);
    kiln_buf_puts(&b, "N");
    for (int i = 0; i < DEPTH; i++)
        kiln_buf_puts(&b, "\x85");
    kiln_buf_puts(&b, ".");
    kiln_assert_fails(kiln_pickle_read(&a, kiln_buf_str(&b), "test.pkl", &v, &err),
                      KILN_ERR_LIMIT, &err, "values are nested deeper than 400");
    /* A value that many hold is looked at once: 2^1000 paths, few values. */
    b.n = 0;
    kiln_buf_puts(&b, "N");
    for (int i = 0; i < KILN_PICKLE_MAX_DEPTH - 2; i++)
        kiln_buf_puts(&b, "2\x86");
    kiln_buf_puts(&b, ".");
    kiln_assert_status_ok(kiln_pickle_read(&a, kiln_buf_str(&b), "test.pkl", &v, &err),
                          &err);
    kiln_arena_fini(&a);
}

static void members_are_found_by_name(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_pickle_value *v = NULL;
    static const kiln_str net = P("c__torch__\nNet\n)\x81}(X\x01\0\0\0aK\x05ub.");
    kiln_assert_status_ok(kiln_pickle_read(&a, net, "t", &v, &err), &err);
    assert_int_equal(kiln_pickle_get(v, kiln_str_from("a"))->i, 5);
    assert_null(kiln_pickle_get(v, kiln_str_from("b")));
    assert_true(kiln_pickle_is_object(v, "__torch__", "Net"));
    kiln_arena_fini(&a);
}

/* ---- tensors --------------------------------------------------------------------- */

typedef struct tensor_row {
    const char *name;
    kiln_str storage, rest; /* ('storage', torch.<storage>, '0', 'cpu', 6); behind it */
    const char *call;       /* of torch._utils */
    const char *want;       /* the type, or the message */
    float first[6];
    kiln_status fails;
} tensor_row;

static tensor_row tensors[] = {
    {"dense",
     S("FloatStorage"),
     S("K\0K\2K\3\x86K\3K\1\x86\x89N"),
     "_rebuild_tensor_v2",
     "f32[2,3]",
     {0, 1, 2, 3, 4, 5},
     KILN_OK},
    {"turned",
     S("FloatStorage"),
     S("K\0K\3K\2\x86K\1K\3\x86\x89N"),
     "_rebuild_tensor_v2",
     "f32[3,2]",
     {0, 3, 1, 4, 2, 5},
     KILN_OK},
    {"part",
     S("FloatStorage"),
     S("K\4K\2\x85K\1\x85\x89N"),
     "_rebuild_tensor_v2",
     "f32[2]",
     {4, 5},
     KILN_OK},
    {"expanded",
     S("FloatStorage"),
     S("K\1K\3\x85K\0\x85\x89N"),
     "_rebuild_tensor_v2",
     "f32[3]",
     {1, 1, 1},
     KILN_OK},
    {"scalar",
     S("FloatStorage"),
     S("K\5))\x89N"),
     "_rebuild_tensor_v2",
     "f32[]",
     {5},
     KILN_OK},
    {"past_the_storage",
     S("FloatStorage"),
     S("K\1K\2K\3\x86K\3K\1\x86\x89N"),
     "_rebuild_tensor_v2",
     "a tensor reaches past its storage of 6 elements",
     {0},
     KILN_ERR_PARSE},
    {"strides_that_overflow",
     S("FloatStorage"),
     S("K\0K\2K\3\x86\x8a\5\0\0\0\0\1K\1\x86\x89N"),
     "_rebuild_tensor_v2",
     "a tensor reaches past its storage of 6 elements",
     {0},
     KILN_ERR_PARSE},
    {"huge_sizes",
     S("FloatStorage"),
     S("K\0\x8a\4\0\0\0\1\x8a\4\0\0\0\1\x86K\0K\0\x86\x89N"),
     "_rebuild_tensor_v2",
     "elements",
     {0},
     KILN_ERR_LIMIT},
    {"negative_sizes",
     S("FloatStorage"),
     S("K\0J\xff\xff\xff\xff\x85K\1\x85\x89N"),
     "_rebuild_tensor_v2",
     "sizes and strides must be integers from 0 to 2^40",
     {0},
     KILN_ERR_PARSE},
    {"other_rank",
     S("FloatStorage"),
     S("K\0K\2\x85K\1K\1\x86\x89N"),
     "_rebuild_tensor_v2",
     "a tensor must have a stride for each axis",
     {0},
     KILN_ERR_PARSE},
    {"complex",
     S("ComplexFloatStorage"),
     S("K\0K\2\x85K\1\x85\x89N"),
     "_rebuild_tensor_v2",
     "a tensor of 'ComplexFloatStorage' is not read",
     {0},
     KILN_ERR_UNSUPPORTED},
    {"quantized",
     S("QInt8Storage"),
     S("K\0K\2\x85K\1\x85N"),
     "_rebuild_qtensor",
     "a quantized tensor is not read; export the float model",
     {0},
     KILN_ERR_UNSUPPORTED},
    {"sparse",
     S("FloatStorage"),
     S("N"),
     "_rebuild_sparse_tensor",
     "a tensor is neither dense nor on a CPU",
     {0},
     KILN_ERR_UNSUPPORTED},
};

static kiln_str tensor_pickle(kiln_arena *a, const tensor_row *r) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_printf(&b,
                    "\x80\x02"
                    "ctorch._utils\n%s\n((X\x07",
                    r->call);
    kiln_buf_add(&b, "\0\0\0storagectorch\n", 17);
    kiln_buf_add(&b, r->storage.p, r->storage.n);
    kiln_buf_add(&b,
                 "\nU\1"
                 "0U\3cpuK\6tQ",
                 13);
    kiln_buf_add(&b, r->rest.p, r->rest.n);
    kiln_buf_puts(&b, "tR.");
    return kiln_buf_str(&b);
}

static void check_tensor(void **state) {
    static const float stored[] = {0, 1, 2, 3, 4, 5};
    const tensor_row *const r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_pickle_value *v = NULL;
    kiln_pickle_tensor t;
    const void *data = NULL;
    kiln_assert_status_ok(kiln_pickle_read(&a, tensor_pickle(&a, r), "t", &v, &err),
                          &err);
    assert_true(kiln_pickle_is_tensor(v));
    const kiln_status st = kiln_pickle_tensor_of(v, &t, &err);
    if (r->fails != KILN_OK) {
        kiln_assert_fails(st, r->fails, &err, r->want);
    } else {
        kiln_assert_status_ok(st, &err);
        assert_string_equal(kiln_type_text(&a, &t.type), r->want);
        assert_true(kiln_str_is(t.key, "0"));
        kiln_str storage = {(const char *)stored, sizeof stored};
        kiln_assert_status_ok(kiln_pickle_tensor_data(&a, &t, storage, &data, &err),
                              &err);
        kiln_assert_close(data, r->first, (size_t)kiln_type_elems(&t.type), 0, 0);
        storage.n--;
        kiln_assert_fails(kiln_pickle_tensor_data(&a, &t, storage, &data, &err),
                          KILN_ERR_PARSE, &err, "its entry has 23 bytes");
    }
    kiln_arena_fini(&a);
}

static void damaged_pickles_are_no_harm(void **state) {
    (void)state;
    enum { N_MUTANTS = 2000 };
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < N_MUTANTS; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        const kiln_pickle_value *v = NULL;
        kiln_pickle_tensor t;
        const size_t from = (size_t)i % (sizeof tensors / sizeof tensors[0]);
        const kiln_str s = tensor_pickle(&a, &tensors[from]);
        size_t n = s.n;
        char *const p = kiln_arena_dup(&a, s.p, n);
        kiln_test_damage(&rng, p, &n);
        const kiln_status st = kiln_pickle_read(&a, (kiln_str){p, n}, "t", &v, &err);
        if (st == KILN_OK && kiln_pickle_is_tensor(v))
            (void)kiln_pickle_tensor_of(v, &t, &err);
        kiln_arena_fini(&a);
    }
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("depth_is_bounded", depth_is_bounded, NULL);
    kiln_test_add("members_are_found_by_name", members_are_found_by_name, NULL);
    kiln_test_add_rows(check_tensor, tensors);
    kiln_test_add("damaged_pickles_are_no_harm", damaged_pickles_are_no_harm, NULL);
    return kiln_test_run("pytorch_pickle");
}
