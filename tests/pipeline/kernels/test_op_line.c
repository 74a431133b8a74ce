/* Lines of ops files: what graph each kind means, and what is refused in which words.
 * The key of the workload says all of it: operator, attributes, types, what is fused.
 */
#include "pipeline/kernels/op_line.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct row {
    const char *name, *line, *key;
} row;

static row rows[] = {
    {"short_conv", "conv C2 56 64 64 3 1",
     "conv{pads=[1,1,1,1]}(%0: f32[1,64,56,56], %1: const f32[64,64,3,3]) -> %2"},
    {"odd_padding_is_behind", "conv C1 224 3 64 7 2",
     "conv{strides=[2,2],pads=[2,2,3,3]}(%0: f32[1,3,224,224], %1: const "
     "f32[64,3,7,7]) -> %2"},
    {"short_depthwise", "dw D2 112 64 64 3 2",
     "conv{strides=[2,2],pads=[0,0,1,1],groups=64}(%0: f32[1,64,112,112], %1: const "
     "f32[64,1,3,3]) -> %2"},
    {"short_matmul", "mm M2 1 1024 1000 0 0",
     "matmul(%0: f32[1,1024], %1: const f32[1024,1000]) -> %2"},
    {"short_matmul_without_zeros", "mm M2 1 1024 1000",
     "matmul(%0: f32[1,1024], %1: const f32[1024,1000]) -> %2"},
    {"keys_say_the_same", "conv x h=56 ic=64 oc=64 k=3",
     "conv{pads=[1,1,1,1]}(%0: f32[1,64,56,56], %1: const f32[64,64,3,3]) -> %2"},
    {"every_key_of_conv",
     "conv x n=2 h=7 w=33 ic=20 oc=16 kh=5 kw=1 sh=2 sw=3 dh=1 dw=1 groups=4 "
     "pad=2,0,1,0 bias=yes dtype=f16",
     "conv{strides=[2,3],pads=[2,0,1,0],groups=4}(%0: f16[2,20,7,33], %1: const "
     "f16[16,5,5,1], %2: const f16[16]) -> %3"},
    {"padding_of_one_number", "conv x h=8 ic=1 oc=1 k=3 pad=2",
     "conv{pads=[2,2,2,2]}(%0: f32[1,1,8,8], %1: const f32[1,1,3,3]) -> %2"},
    {"no_padding", "conv x h=8 ic=1 oc=1 k=3 pad=valid",
     "conv(%0: f32[1,1,8,8], %1: const f32[1,1,3,3]) -> %2"},
    {"same_padding_counts_dilation", "conv x h=8 ic=1 oc=1 k=3 d=2",
     "conv{pads=[2,2,2,2],dilations=[2,2]}(%0: f32[1,1,8,8], %1: const f32[1,1,3,3]) "
     "-> %2"},
    {"depthwise_with_multiplier", "dw x h=8 c=4 m=2 k=3",
     "conv{pads=[1,1,1,1],groups=4}(%0: f32[1,4,8,8], %1: const f32[8,1,3,3]) -> %2"},
    {"epilogue_in_order", "conv x h=8 ic=1 oc=2 k=1 add=yes act=relu",
     "conv(%0: f32[1,1,8,8], %1: const f32[2,1,1,1]); add(%2, %3: f32[1,2,8,8]); "
     "relu(%4) -> %5"},
    {"matmul_of_two_activations", "matmul x batch=3 m=2 k=4 n=5 b=input",
     "matmul(%0: f32[3,2,4], %1: f32[3,4,5]) -> %2"},
    {"weights_are_shared_by_a_batch", "matmul x batch=3 m=2 k=4 n=5 bias=yes",
     "matmul(%0: f32[3,2,4], %1: const f32[4,5]); add(%2, %3: const f32[5]) -> %4"},
    {"any_operator", "softmax x in=f32[2,3] axis=0",
     "softmax{axis=0}(%0: f32[2,3]) -> %1"},
    {"operator_with_bool_and_axes", "reduce_mean x in=f32[2,3,4] axes=1,2 keepdims=no",
     "reduce_mean{axes=[1,2],keepdims=0}(%0: f32[2,3,4]) -> %1"},
    {"operator_with_epilogue", "add x in=f32[2,3] const=f32[3] act=sigmoid",
     "add(%0: f32[2,3], %1: const f32[3]); sigmoid(%2) -> %3"},
    {"general_form_of_conv", "conv x in=f32[1,3,9] const=f32[2,3,2] pads=0,1",
     "conv{pads=[0,1]}(%0: f32[1,3,9], %1: const f32[2,3,2]) -> %2"},
    {"absent_input", "conv x in=f32[1,3,9] const=f32[2,3,2] in=_",
     "conv(%0: f32[1,3,9], %1: const f32[2,3,2]) -> %2"},
};

static void check_key(void **state) {
    const row *r = *state;
    kiln_err err = {0};
    kiln_op_line line;
    kiln_op_work work;
    kiln_arena *a = kiln_test_arena();
    kiln_assert_status_ok(kiln_op_line_of(a, r->line, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &line, &work, &err), &err);
    kiln_assert_text_equal(work.key, kiln_str_from(r->key));
    kiln_assert_status_ok(kiln_graph_verify(work.graph, &err), &err);
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct refusal {
    const char *name, *line;
    kiln_status status;
    const char *text;
} refusal;

static refusal refusals[] = {
    {"rejects_a_kind_alone", "conv", KILN_ERR_PARSE,
     "a line is 'KIND NAME key=value...', this one has no name"},
    {"rejects_a_key_for_a_name", "conv h=3 ic=4", KILN_ERR_PARSE,
     "a name must stand behind the kind 'conv', is 'h=3'"},
    {"rejects_an_unknown_kind", "convolution x h=3", KILN_ERR_PARSE,
     "kind 'convolution' is not known; there are conv, dw, matmul (mm), graph, and "
     "every operator by its name"},
    {"rejects_an_unknown_key", "conv x h=8 ic=1 oc=1 k=3 stride=2", KILN_ERR_PARSE,
     "conv has no key 'stride'"},
    {"rejects_a_missing_key", "conv x h=8 ic=1 k=3", KILN_ERR_PARSE,
     "conv needs oc=\n  while reading 'x' (--op)"},
    {"rejects_a_size_of_zero", "conv x h=0 ic=1 oc=1 k=3", KILN_ERR_PARSE,
     "h must be a number from 1 to 16777216, is '0'"},
    {"rejects_what_is_no_number", "matmul x m=3 k=two n=1", KILN_ERR_PARSE,
     "k must be a number from 1 to 16777216, is 'two'"},
    {"rejects_too_few_numbers", "conv x 56 64 64 3", KILN_ERR_PARSE,
     "'conv' takes no 4 numbers; the short forms are conv NAME H IC OC K S"},
    {"rejects_numbers_and_keys", "conv x 56 64 64 3 1 bias=yes", KILN_ERR_PARSE,
     "'bias=yes': a line has numbers or key=value"},
    {"rejects_a_bare_word", "conv x h=8 fast", KILN_ERR_PARSE,
     "'fast' is not key=value"},
    {"rejects_padding_of_two", "conv x h=8 ic=1 oc=1 k=3 pad=1,1", KILN_ERR_PARSE,
     "pad must be same, valid, a number, or top,left,bottom,right, is '1,1'"},
    {"rejects_maybe", "conv x h=8 ic=1 oc=1 k=3 bias=maybe", KILN_ERR_PARSE,
     "bias must be yes or no, is 'maybe'"},
    {"rejects_a_dtype", "conv x h=8 ic=1 oc=1 k=3 dtype=float", KILN_ERR_PARSE,
     "dtype must be f32, f16, "},
    {"rejects_groups_that_do_not_divide", "conv x h=8 ic=4 oc=4 k=3 groups=3",
     KILN_ERR_PARSE, "groups=3 must divide ic=4"},
    {"rejects_an_epilogue_that_reduces", "conv x h=8 ic=1 oc=1 k=3 act=softmax",
     KILN_ERR_PARSE,
     "act must be an element-wise operator of one input, such as relu, is 'softmax'"},
    {"rejects_two_anchors", "graph x file=@two", KILN_ERR_UNSUPPORTED,
     "a workload has one node that is not injective"},
    {"rejects_a_graph_without_a_file", "graph x", KILN_ERR_PARSE,
     "graph needs file=PATH"},
    {"rejects_a_file_that_is_not_there", "graph x file=no/such.txt", KILN_ERR_MISSING,
     "no/such.txt"},
    {"rejects_a_type", "relu x in=f33[3]", KILN_ERR_PARSE, "f33"},
    {"rejects_a_blocked_type", "relu x in=f32[32]{block=0x16}", KILN_ERR_PARSE,
     "in must be a type such as f32[1,64,56,56], is 'f32[32]{block=0x16}'"},
    {"rejects_what_infer_refuses", "conv x h=2 ic=1 oc=1 k=3 pad=valid", KILN_ERR_SHAPE,
     "while reading 'x' (--op)"},
    {"rejects_too_much", "matmul x m=1 k=16777216 n=16777216", KILN_ERR_LIMIT,
     "while reading 'x' (--op)"},
    {"rejects_large_constants", "matmul x m=1 k=16384 n=65536", KILN_ERR_LIMIT,
     "constants of more than 1073741824 bytes"},
    {"rejects_attributes_with_words_in_them", "max_pool x in=f32[1,1,4,4] kernel=a",
     KILN_ERR_PARSE, "kernel must be a list of numbers such as 1,2, is 'a'"},
};

static const char two_anchors[] = "graph \"g\" {\n"
                                  "  input %x : f32[6,6]\n"
                                  "  %y = matmul(%x, %x) : f32[6,6] \"first\"\n"
                                  "  %z = matmul(%y, %x) : f32[6,6] \"second\"\n"
                                  "  output %z \"z\"\n}\n";

/* "@two" becomes the path of a file with the text above. */
static const char *with_file(kiln_arena *a, const char *line) {
    const char *at = strchr(line, '@');
    if (at == NULL)
        return line;
    kiln_err err = {0};
    const char *path = kiln_path_join(a, kiln_test_dir(), "two.txt");
    kiln_assert_status_ok(
        kiln_file_write(path, two_anchors, sizeof two_anchors - 1, &err), &err);
    return kiln_format(a, "%.*s%s", (int)(at - line), line, path);
}

static void check_refusal(void **state) {
    const refusal *r = *state;
    kiln_err err = {0};
    kiln_op_line line;
    kiln_op_work work;
    kiln_arena *a = kiln_test_arena();
    kiln_status st = kiln_op_line_of(a, with_file(a, r->line), &line, &err);
    if (st == KILN_OK)
        st = kiln_op_work_make(a, &line, &work, &err);
    kiln_assert_fails(st, r->status, &err, r->text);
}

/* ---- files ----------------------------------------------------------------------- */

static kiln_status read_text(const char *text, kiln_op_lines *out, kiln_err *err) {
    kiln_arena *a = kiln_test_arena();
    const char *path = kiln_path_join(a, kiln_test_dir(), "ops.txt");
    kiln_assert_status_ok(kiln_file_write(path, text, strlen(text), err), err);
    return kiln_op_lines_read(a, path, out, err);
}

static void reads_lines_and_comments(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_op_lines lines;
    kiln_assert_status_ok(read_text("# all of them\n\n  conv A 8 1 1 3 1  # first\n"
                                    "relu B in=f32[3]\r\n",
                                    &lines, &err),
                          &err);
    assert_int_equal(lines.list.n, 2);
    assert_string_equal(lines.list.v[0].text, "conv A 8 1 1 3 1");
    assert_string_equal(lines.list.v[1].name, "B");
    assert_non_null(strstr(lines.list.v[1].where, "ops.txt:4"));
    kiln_op_work work;
    kiln_assert_status_ok(
        kiln_op_work_make(kiln_test_arena(), &lines.list.v[1], &work, &err), &err);
}

static void refuses_files(void **state) {
    (void)state;
    kiln_op_lines lines;
    kiln_err err = {0};
    kiln_assert_fails(read_text("conv A 8 1 1 3 1\nrelu A in=f32[3]\n", &lines, &err),
                      KILN_ERR_PARSE, &err, ":2: 'A' is the name of another line");
    kiln_err_clear(&err);
    kiln_assert_fails(read_text("# nothing\n", &lines, &err), KILN_ERR_PARSE, &err,
                      "no operator in it");
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_op_lines_read(kiln_test_arena(), "resnet19", &lines, &err),
                      KILN_ERR_MISSING, &err, "resnet19");
}

/* Each list that ships can be made, and none of its workloads is there twice. */
static void shipped_lists_are_good(void **state) {
    (void)state;
    for (int i = 0; kiln_op_list_at(i) != NULL; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_op_lines lines;
        kiln_map keys = {.n_slots = 0};
        kiln_assert_status_ok(kiln_op_lines_read(&a, kiln_op_list_at(i), &lines, &err),
                              &err);
        for (size_t k = 0; k < lines.list.n; k++) {
            kiln_op_work work;
            kiln_assert_status_ok(kiln_op_work_make(&a, &lines.list.v[k], &work, &err),
                                  &err);
            assert_true(kiln_map_set(&a, &keys, work.key, &keys));
        }
        kiln_arena_fini(&a);
    }
    assert_null(kiln_op_list_at(-1));
}

int main(void) {
    kiln_test_add_rows(check_key, rows);
    kiln_test_add_rows(check_refusal, refusals);
    kiln_test_add("reads_lines_and_comments", reads_lines_and_comments, NULL);
    kiln_test_add("refuses_files", refuses_files, NULL);
    kiln_test_add("shipped_lists_are_good", shipped_lists_are_good, NULL);
    return kiln_test_run("op_line");
}
