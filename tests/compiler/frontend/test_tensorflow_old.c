/* Control flow of TensorFlow 1: loops of Enter, Merge, Switch, NextIteration and Exit,
 * tensor arrays, and branches that data decides about. */
#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/tensorflow/tf_model.h"
#include "compiler/reference/reference.h"
#include "tests/support/kiln_test.h"
#include "tests/support/tf_writer.h"

extern const kiln_frontend kiln_frontend_tensorflow;

#define X "x Placeholder dtype=t1 shape=S3\n"
enum { MAX_Y = 8 };

typedef struct row {
    const char *name, *text;
    int n;
    float y[MAX_Y];
} row;

/* One variable of loop `f`: n enters as `from`, and goes round as `next`. */
#define CARRIES(f, n, from, next)                                                      \
    n "E Enter " from " frame_name=s" f "\n" n "M Merge " n "E " n "N\n" n             \
      "S Switch " n "M " f "C\n" n "B Identity " n "S:1\n" n "N NextIteration " next   \
      "\n" n "X Exit " n "S\n"
#define READS(f, n, from) n " Enter " from " frame_name=s" f " is_constant=btrue\n"
#define GOES_ON(f, cond) f "C LoopCond " cond "\n"
#define NUMBER(n, v) n " Const value=I:" v " dtype=t3\n"

/* i = 0; s = 0: while (i < 3) { s += x; i += 1 }. */
#define SUM                                                                            \
    NUMBER("zero", "0")                                                                \
    NUMBER("three", "3")                                                               \
    "z Const value=F3:0\n" CARRIES("f", "i", "zero", "ip")                             \
        CARRIES("f", "s", "z", "sp") READS("f", "xE", "x")                             \
            READS("f", "nE", "three") "l Less iM nE\n" GOES_ON(                        \
                "f",                                                                   \
                "l") "one Const value=I:1 dtype=t3 ^iB\nip Add iB one\nsp Add sB xE\n"

static row rows[] = {
    {"a_loop", X SUM "y Relu sX", 3, {0, 3, 6}},
    /* What nobody reads goes with the loop. */
    {"a_loop_with_an_idle_node", X SUM "q Neg sB\ny Relu sX", 3, {0, 3, 6}},
    {"a_loop_that_never_runs",
     X "never Const value=I:5 dtype=t3\n" NUMBER("three", "3")
         CARRIES("f", "i", "never", "ip") CARRIES("f", "s", "x", "sp")
             READS("f", "nE", "three") "l Less iM nE\n" GOES_ON(
                 "f", "l") "one Const value=I:1 dtype=t3 ^iB\nip Add iB one\nsp Neg "
                           "sB\ny Add sX sX",
     3,
     {0, 2, 4}},
    /* for i < 2: for j < 3: s += x; both counters are carried. */
    {"a_loop_in_a_loop",
     X NUMBER("zero", "0") NUMBER("two", "2") NUMBER("three", "3") CARRIES(
         "f", "i", "zero", "ip") CARRIES("f", "s", "x", "tX") READS("f", "xE", "x")
         READS("f", "nE", "two") READS("f", "mE", "three")
             READS("f", "oE", "zero") "l Less iM nE\n" GOES_ON("f", "l") CARRIES(
                 "g", "j", "oE", "jp") CARRIES("g", "t", "sB", "tp")
                 READS("g", "xG", "xE") READS("g", "mG", "mE") "k Less jM mG\n" GOES_ON(
                     "g",
                     "k") "onej Const value=I:1 dtype=t3 ^jB\njp Add jB onej\ntp Add "
                          "tB xG\n"
                          "one Const value=I:1 dtype=t3 ^iB\nip Add iB one\ny Relu sX",
     3,
     {0, 7, 14}},
    /* Data or i ends it: while (i < 4 and sum of s < 20) s *= 2. */
    {"a_loop_that_data_ends",
     X NUMBER("zero", "0") NUMBER(
         "four",
         "4") "t Const value=F:20\n"
              "a0 Const value=I1:0 dtype=t3\n" CARRIES(
                  "f", "i", "zero", "ip") CARRIES("f", "s", "x", "sp")
                  READS("f", "nE", "four") READS("f", "tE", "t") READS(
                      "f", "aE",
                      "a0") "l Less iM nE\nu Sum sM aE\nd Less u tE\na LogicalAnd l "
                            "d\n" GOES_ON("f",
                                          "a") "one Const value=I:1 dtype=t3 ^iB\nip "
                                               "Add iB one\nsp Add sB sB\ny Relu sX",
     3,
     {0, 8, 16}},
    /* Rows of x, doubled one by one: what a recurrent layer does. */
    {"arrays",
     X NUMBER("zero", "0") NUMBER(
         "three",
         "3") "r Const value=I3:0;1;2 dtype=t3\n"
              "in TensorArrayV3 three dtype=t1 element_shape=S dynamic_size=bfalse "
              "clear_after_read=btrue identical_element_shapes=btrue "
              "tensor_array_name=sa\n"
              "fill TensorArrayScatterV3 in r x in:1 T=t1\n"
              "out TensorArrayV3 zero dtype=t1 element_shape=S "
              "dynamic_size=btrue\n" CARRIES("f", "i", "zero", "ip")
                  CARRIES("f", "o", "out:1", "op") READS("f", "nE", "three") READS(
                      "f", "hE", "in") READS("f", "fE", "fill")
                      READS("f", "gE", "out") "l Less iM nE\n" GOES_ON(
                          "f", "l") "one Const value=I:1 dtype=t3 ^iB\nip Add iB one\n"
                                    "v TensorArrayReadV3 hE iB fE dtype=t1\nw Add v v\n"
                                    "op TensorArrayWriteV3 gE iB w oB T=t1\n"
                                    "y TensorArrayGatherV3 out r oX dtype=t1 "
                                    "element_shape=S",
     3,
     {0, 2, 4}},
    {"a_placeholder_that_is_left_behind",
     X "unused_control_flow_input_3 Placeholder dtype=t21\ny Relu x",
     3,
     {0, 1, 2}},
    {"size_of_an_array",
     X NUMBER("five", "5") "in TensorArrayV3 five dtype=t1\nq TensorArraySizeV3 in "
                           "in:1\ny Cast q DstT=t1",
     0,
     {5}},
    /* ---- branches */
    {"data_chooses_a_branch",
     X "a0 Const value=I1:0 dtype=t3\nu Sum x a0\nt Const value=F:5\np Less u t\n"
       "s Switch x p\nn Neg s\nd Add s:1 s:1\nm Merge n d\ny Relu m",
     3,
     {0, 2, 4}},
    {"data_chooses_the_other_branch",
     X "a0 Const value=I1:0 dtype=t3\nu Sum x a0\nt Const value=F:1\np Less u t\n"
       "s Switch x p\nn Mul s s\nd Add s:1 s:1\nm Merge d n\ny Relu m",
     3,
     {0, 1, 4}},
    {"which_branch_it_was",
     X "a0 Const value=I1:0 dtype=t3\nu Sum x a0\nt Const value=F:5\np Less u t\n"
       "s Switch x p\nn Neg s\nd Add s:1 s:1\nm Merge n d\ny Cast m:1 DstT=t1",
     0,
     {1}},
    /* A constant lies on a branch by its control input alone. */
    {"a_branch_of_constants",
     X "a0 Const value=I1:0 dtype=t3\nu Sum x a0\nt Const value=F:5\np Less u t\n"
       "s Switch p p\nsT Identity s:1\nsF Identity s\n"
       "one Const value=F:1 ^sT\ntwo Const value=F:2 ^sF\nm Merge two one\ny Mul x m",
     3,
     {0, 1, 2}},
    {"a_branch_in_a_branch",
     X "a0 Const value=I1:0 dtype=t3\nu Sum x a0\nt Const value=F:5\np Less u t\n"
       "w Const value=F:2\nq Less u w\ns Switch x p\nqs Switch q p\n"
       "r Switch s:1 qs:1\nn Neg r\nd Add r:1 r:1\nm Merge n d\nk Merge s m\ny Abs k",
     3,
     {0, 1, 2}},
    {"a_branch_around_a_loop",
     X
     "a0 Const value=I1:0 dtype=t3\nu Sum x a0\nt Const value=F:5\np Less u t\n"
     "sw Switch x p\n" NUMBER("zero", "0") NUMBER(
         "two", "2") CARRIES("f", "i", "zero", "ip") CARRIES("f", "s", "sw:1", "sp")
         READS("f", "nE", "two") "l Less iM nE\n" GOES_ON(
             "f", "l") "one Const value=I:1 dtype=t3 ^iB\nip Add iB one\nsp Add sB sB\n"
                       "m Merge sw sX\ny Relu m",
     3,
     {0, 4, 8}},
};

static kiln_status import(const char *text, kiln_graph **g, kiln_err *err) {
    kiln_import_report report;
    kiln_arena *const a = kiln_test_arena();
    return kiln_frontend_tensorflow.import(a, kiln_tf_graph_of(a, text), "m.pb", NULL,
                                           NULL, g, &report, err);
}

static void check(void **state) {
    const row *const r = *state;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    float x[] = {0, 1, 2};
    kiln_tensor y;
    kiln_assert_status_ok(import(r->text, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_verify(g, &err), &err);
    assert_int_equal(g->inputs.n, 1);
    assert_int_equal(g->outputs.n, 1);
    const kiln_tensor in = {g->inputs.v[0]->type, x};
    kiln_assert_status_ok(kiln_ref_run(kiln_test_arena(), g, &in, 1, &y, &err), &err);
    assert_int_equal(kiln_type_elems(&y.type), r->n == 0 ? 1 : r->n);
    kiln_assert_close(y.data, r->y, r->n == 0 ? 1 : (size_t)r->n, 0, 0);
}

typedef struct refusal {
    const char *name, *text;
    kiln_status status;
    const char *says;
} refusal;

static refusal refusals[] = {
    {"a_loop_without_end_that_is_known",
     X "t Const value=F:20\na0 Const value=I1:0 dtype=t3\n" CARRIES("f", "s", "x", "sp")
         READS("f", "tE", "t")
             READS("f", "aE", "a0") "u Sum sM aE\nd Less u tE\n" GOES_ON(
                 "f", "d") "sp Add sB sB\ny Relu sX",
     KILN_ERR_UNSUPPORTED,
     "looking how often the loop runs, which must be known at import, or have a bound"},
    {"a_loop_without_condition",
     X "E Enter x frame_name=sf\nM Merge E N\nN NextIteration M\ny Relu M",
     KILN_ERR_PARSE, "loop 'f' must have a LoopCond of one operand"},
    {"a_variable_without_switch",
     X SUM "E Enter x frame_name=sf\nM Merge E N\nN NextIteration M\ny Relu sX",
     KILN_ERR_UNSUPPORTED,
     "node 'M' (Merge): its loop has no Switch for it; export the model with control "
     "flow of TensorFlow 2"},
    {"two_loops_of_one_body",
     X SUM CARRIES("g", "k", "zero", "ip")
         READS("g", "mE",
               "three") "kl Less kM mE\n" GOES_ON("g", "kl") "y Add sX x\nz Relu kX",
     KILN_ERR_UNSUPPORTED, "export the model with control flow of TensorFlow 2"},
    {"branches_of_two_conditions",
     X "a0 Const value=I1:0 dtype=t3\nu Sum x a0\nt Const value=F:5\np Less u t\n"
       "q Less t u\ns Switch x p\nr Switch x q\nm Merge s r:1\ny Relu m",
     KILN_ERR_UNSUPPORTED, "the operands must come of the two branches of one Switch"},
    {"branches_of_two_shapes",
     X "a0 Const value=I1:0 dtype=t3\nu Sum x a0\nt Const value=F:5\np Less u t\n"
       "s Switch x p\nn Sum s a0\nm Merge n s:1\ny Relu m",
     KILN_ERR_UNSUPPORTED, "must be a tensor of one shape"},
    {"an_array_s_element_that_is_not_there",
     X NUMBER("three", "3") "in TensorArrayV3 three dtype=t1\n"
                            "y TensorArrayWriteV3 in three x in:1 T=t1",
     KILN_ERR_SHAPE, "an array of 3 elements has none of number 3"},
    {"an_element_that_was_not_written",
     X NUMBER("one", "1") "two Const value=I:2 dtype=t3\n"
                          "in TensorArrayV3 two dtype=t1\n"
                          "y TensorArrayReadV3 in one in:1 dtype=t1",
     KILN_ERR_UNSUPPORTED, "one element of the array must be read, behind its write"},
    {"rows_that_are_too_few",
     X NUMBER("three", "3") "r Const value=I2:0;1 dtype=t3\n"
                            "in TensorArrayV3 three dtype=t1\n"
                            "y TensorArrayScatterV3 in r x in:1 T=t1",
     KILN_ERR_SHAPE, "a tensor must have as many rows as there are indices, 2"},
    {"a_flow_that_is_none",
     X NUMBER("three", "3") "in TensorArrayV3 three dtype=t1\n"
                            "y TensorArraySizeV3 in x",
     KILN_ERR_PARSE, "input 1 ('flow_in') must be the flow of a tensor array"},
};

static void refuse(void **state) {
    const refusal *const r = *state;
    kiln_graph *g = NULL;
    kiln_err err = {0};
    kiln_assert_fails(import(r->text, &g, &err), r->status, &err, r->says);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add_rows(refuse, refusals);
    return kiln_test_run("tensorflow_old");
}
