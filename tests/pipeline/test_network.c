/* Whole graphs through passes, fusion, templates, code, plan and runtime, against the
 * reference.
 *
 * Tolerance: f32 arithmetic with sums of at most a few hundred terms of magnitude 1:
 * k * 2^-24 * sum|ab| stays below 1e-4 of the largest output. */
#include "pipeline/network/network.h"
#include "tests/support/kiln_test.h"
#include "tests/support/graph/network_open.h"
#include "tests/support/model/weighted_graph.h"
#include "compiler/reference/reference.h"
#include "compiler/pass/pass.h"

#include <math.h>
#include <string.h>

static const double tolerance = 1e-4;

typedef struct row {
    const char *name, *text;
    int n_steps,
        n_conversions; /* after passes; at most: they are the templates' affair */
    int n_views;       /* after passes; at least */
    /* More of both where vectors have fewer than 16 lanes: 7 channels are half a block of
     * 8 and more, so x is converted; 20 and 28 end in the middle of one. */
    int n_more;
} row;

#define ZEROS_72                                                                       \
    "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"   \
    "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"
#define ZEROS_288 ZEROS_72 "," ZEROS_72 "," ZEROS_72 "," ZEROS_72

static row rows[] = {
    {"convolutions_keep_their_layout",
     "graph \"g\" { input %x : f32[1,16,8,8] input %w : f32[32,16,3,3] "
     "input %v : f32[32,32,3,3] %a = conv(%x, %w) {pads=[1,1,1,1]} %b = relu(%a) "
     "%c = conv(%b, %v) {pads=[1,1,1,1]} %d = add(%c, %b) %e = relu(%d) output %e }",
     4, 2, 0, 0},
    {"odd_channels",
     "graph \"g\" { input %x : f32[1,3,9,7] input %w : f32[17,3,3,3] "
     "input %v : f32[5,17,1,1] %a = conv(%x, %w) {strides=[2,2]} %b = sigmoid(%a) "
     "%c = conv(%b, %v) %d = max_pool(%c) {kernel=[2,2]} output %d output %c }",
     5, 2, 0, 0},
    {"half_a_block_of_channels",
     "graph \"g\" { input %x : f32[1,24,6,6] input %w : f32[24,24,1,1] "
     "input %v : f32[24,1,3,3] input %b : f32[24] %a = relu(%x) "
     "%c = conv(%a, %v) {pads=[1,1,1,1], groups=24} %d = conv(%c, %w, %b) "
     "%e = add(%a, %d) %f = relu(%e) output %f }",
     6, 4, 0, 0},
    /* One kernel does both, and reads the right operands each time. */
    {"equal_work_in_another_order",
     "graph \"g\" { input %x : f32[3,17] input %a : f32[3,17] input %b : f32[3,17] "
     "input %c : f32[3,17] input %d : f32[3,17] "
     "%e = sub(%x, %a) %f = max(%x, %b) %g = mul(%e, %f) "
     "%h = max(%x, %c) %i = sub(%x, %d) %j = mul(%i, %h) output %g output %j }",
     2, 0, 0, 0},
    {"padding_of_its_own",
     "graph \"g\" { input %x : f32[1,5,6,7] input %w : f32[20,5,3,3] "
     "%a = pad(%x) {pads=[0,0,0,1,0,0,1,2]} %b = conv(%a, %w) {strides=[2,2]} "
     "%c = relu(%b) %d = pad(%c) {pads=[0,0,1,1,0,0,1,1]} "
     "%e = max_pool(%d) {kernel=[3,3]} %f = pad(%e) {pads=[0,0,0,0,0,0,3,0]} "
     "%g = avg_pool(%f) {kernel=[2,2]} output %g }",
     5, 2, 0, 0},
    {"channels_last",
     "graph \"g\" { input %x : f32[1,6,6,3] input %w : f32[20,3,3,3] "
     "input %v : f32[20,20,1,1] input %b : f32[20] %c = transpose(%x) "
     "{perm=[0,3,1,2]} %d = conv(%c, %w) %e = transpose(%d) {perm=[0,2,3,1]} "
     "%f = add(%e, %b) %g = relu(%f) %h = transpose(%g) {perm=[0,3,1,2]} "
     "%i = conv(%h, %v) %j = transpose(%i) {perm=[0,2,3,1]} %k = add(%j, %g) "
     "%m = reduce_mean(%k) {axes=[1,2], keepdims=false} %n = softmax(%m) output %n }",
     5, 0, 0, 0},
    {"parts_are_made_in_their_place",
     "graph \"g\" { input %x : f32[1,32,6,6] input %w : f32[32,32,1,1] "
     "input %v : f32[16,32,3,3] input %u : f32[8,80,1,1] %a = conv(%x, %w) "
     "%b = relu(%a) %c = conv(%b, %v) {pads=[1,1,1,1]} %d = tanh(%c) "
     "%e = conv(%b, %w) %f = sigmoid(%e) %g = concat(%b, %d, %f) {axis=1} "
     "%h = conv(%g, %u) %i = max_pool(%g) {kernel=[2,2]} output %h output %i }",
     8, 4, 3, 0},
    {"parts_that_cannot_be",
     "graph \"g\" { input %x : f32[1,16,4,4] input %w : f32[16,16,1,1] "
     "%a = conv(%x, %w) %b = relu(%a) %c = concat(%b, %b) {axis=1} "
     "%d = concat(%b, %x) {axis=1} %e = conv(%b, %w) %f = concat(%e, %b) {axis=1} "
     "%g = neg(%f) output %c output %d output %b output %g output %f output %e }",
     14, 7, 0, 0},
    {"a_whole_of_wholes",
     "graph \"g\" { input %x : f32[1,16,4,4] input %w : f32[16,16,1,1] "
     "input %v : f32[16,64,1,1] %a = conv(%x, %w) %b = conv(%a, %w) "
     "%c = concat(%a, %b) {axis=1} %d = relu(%c) %e = tanh(%c) "
     "%f = concat(%d, %e) {axis=1} %g = conv(%f, %v) output %g }",
     7, 2, 4, 0},
    {"odd_parts",
     "graph \"g\" { input %x : f32[1,3,5,5] input %w : f32[20,3,3,3] "
     "input %v : f32[17,3,3,3] input %u : f32[5,37,1,1] %a = conv(%x, %w) "
     "%b = conv(%x, %v) %c = concat(%a, %b) {axis=1} %d = conv(%c, %u) output %d }",
     6, 2, 0, 0},
    {"slices_are_read_in_place",
     "graph \"g\" { input %x : f32[1,16,4,4] input %w : f32[48,16,1,1] "
     "input %v : f32[16,16,1,1] %a = conv(%x, %w) %b, %c = split(%a) {axis=1, "
     "sizes=[16,32]} %d = conv(%b, %v) %e = slice(%c) {starts=[0,16,0,0], "
     "steps=[1,1,1,1], sizes=[1,16,4,4]} %f = add(%d, %e) %g = slice(%x) "
     "{starts=[0,4,0,0], steps=[1,1,1,1], sizes=[1,8,4,4]} %h = reduce_sum(%g) "
     "{axes=[1]} %i = slice(%x) {starts=[0,0,1,0], steps=[1,1,1,1], "
     "sizes=[1,16,2,4]} output %f output %h output %c output %i }",
     9, 3, 3, 0},
    {"outputs_through_views",
     "graph \"g\" { input %x : f32[4,16] input %w : f32[16,16] %a = matmul(%x, %w) "
     "%b = reshape(%a) {shape=[64]} %c = matmul(%a, %w) %d = matmul(%c, %w) "
     "%e = concat(%c, %d) {axis=0} %f = reshape(%e) {shape=[8,4,4]} %g = slice(%e) "
     "{starts=[4,0], steps=[1,1], sizes=[4,16]} output %b output %f output %g "
     "output %a output %f }",
     6, 0, 4, 0},
    {"odd_channels_through_everything",
     "graph \"g\" { input %x : f32[2,3,10,10] input %w : f32[17,3,3,3] "
     "input %v : f32[17,17,1,1] input %b : f32[17] input %u : f32[20,17,3,3] "
     "input %k : f32[20,1,3,3] input %s : f32[] %a = conv(%x, %w, %b) {pads=[1,1,1,1]} "
     "%c = relu(%a) %d = conv(%c, %v) %e = add(%d, %c) %f = max_pool(%e) "
     "{kernel=[2,2], strides=[2,2]} %g = sigmoid(%f) %h = mul(%g, %f) %i = exp(%h) "
     "%j = add(%i, %s) %l = avg_pool(%j) {kernel=[3,3], pads=[1,1,1,1]} "
     "%m = conv(%l, %u) %n = conv(%m, %k) {groups=20, pads=[1,1,1,1]} "
     "%o = max_pool(%n) {kernel=[3,3], pads=[1,1,1,1]} %p = reduce_mean(%o) "
     "{axes=[2,3]} %q = sigmoid(%p) %r = mul(%o, %q) %t = reduce_max(%r) "
     "{axes=[2,3], keepdims=false} %y = softmax(%t) output %y output %r }",
     13, 2, 0, 0},
    {"a_thousand_and_one_channels",
     "graph \"g\" { input %x : f32[1,7,5,5] input %w : f32[1001,7,1,1] "
     "%a = conv(%x, %w) %b = relu(%a) %c = neg(%b) %d = max(%a, %c) %e = max_pool(%d) "
     "{kernel=[2,2]} %f = cosh(%e) %g = add(%f, %e) %h = reduce_mean(%g) {axes=[2,3]} "
     "output %h }",
     3, 0, 0, 1},
    {"zeros_behind_channels",
     "graph \"g\" { input %x : f32[1,16,6,6] input %w : f32[20,16,1,1] "
     "input %v : f32[28,20,1,1] input %u : f32[36,28,1,1] const %z8 : f32[1,8,6,6] = "
     "{" ZEROS_288
     "} %a = conv(%x, %w) %b = concat(%a, %z8) {axis=1} %c = conv(%a, %v) "
     "%d = add(%c, %b) %e = relu(%d) %f = concat(%e, %z8) {axis=1} %g = conv(%e, %u) "
     "%h = add(%g, %f) %i = pad(%h) {pads=[0,1,0,0,0,3,0,0]} %j = slice(%i) "
     "{starts=[0,0,0,0], steps=[1,1,1,1], sizes=[1,9,6,6]} output %i output %j }",
     7, 1, 2, 1},
    {"transposed_convolutions",
     "graph \"g\" { input %x : f32[1,20,5,4] input %w : f32[20,17,4,4] "
     "input %b : f32[17] input %v : f32[17,3,3,5] %a = conv_transpose(%x, %w, %b) "
     "{strides=[2,2], pads=[1,1,1,1]} %c = relu(%a) %d = conv_transpose(%c, %v) "
     "{strides=[1,3], pads=[1,1,1,1]} %e = tanh(%d) output %e }",
     17, 5, 9, 0},
    {"a_result_beside_what_it_is_made_of",
     "graph \"g\" { input %x : f32[1,16,8,8] input %w : f32[16,16,3,3] "
     "input %v : f32[32,16,3,3] input %u : f32[32,16,2,2] input %b : f32[16] "
     "input %t : f32[16,32,3,3] %a = conv(%x, %w) {pads=[1,1,1,1]} %c = relu(%a) "
     "%d = max_pool(%c) {kernel=[2,2], strides=[2,2]} %e = conv(%d, %v) "
     "{pads=[1,1,1,1]} %f = relu(%e) %g = conv_transpose(%f, %u, %b) {strides=[2,2]} "
     "%h = concat(%c, %g) {axis=1} %i = conv(%h, %t) {pads=[1,1,1,1]} output %i }",
     7, 2, 1, 0},
    {"views_and_copies",
     "graph \"g\" { input %x : f32[2,3,4] %a = reshape(%x) {shape=[6,4]} "
     "%b = relu(%a) %c = reshape(%b) {shape=[24]} output %c output %x output %b }",
     3, 0, 0, 0},
    {"several_results",
     "graph \"g\" { input %x : f32[3,8] %a, %b = split(%x) {axis=1, sizes=[3,5]} "
     "%c = tanh(%a) %d = reduce_sum(%b) {axes=[1]} %e = softmax(%x) output %c output "
     "%d "
     "output %e }",
     4, 0, 0, 0},
    {"products",
     "graph \"g\" { input %x : f32[5,12] input %w : f32[12,20] input %b : f32[20] "
     "%a = matmul(%x, %w) %c = add(%a, %b) %d = relu(%c) %t = transpose(%d) "
     "{perm=[1,0]} %e = matmul(%d, %t) output %e }",
     3, 0, 0, 0},
    /* What is made in blocks of channels, read by products, which know nothing of
     * them: directly, behind element-wise operators, and transposed. */
    {"products_of_convolutions",
     "graph \"g\" { input %x : f32[1,8,8,8] input %w : f32[8,8,1,1] "
     "input %m : f32[8,8] %c = conv(%x, %w) %y = matmul(%c, %m) output %y }",
     4, 2, 0, 0},
    {"products_of_pools",
     "graph \"g\" { input %x : f32[2,20,16,16] input %m : f32[8,8] "
     "%c = max_pool(%x) {kernel=[2,2], strides=[2,2]} %d = tanh(%c) "
     "%y = matmul(%d, %m) output %y }",
     4, 2, 0, 0},
    {"products_of_rows",
     "graph \"g\" { input %x : f32[1,8,32] input %w : f32[17,8,3] "
     "input %m : f32[30,16] input %v : f32[12,17] %c = conv(%x, %w) "
     "%y = matmul(%c, %m) %z = matmul(%v, %y) output %z }",
     6, 2, 0, 0},
    {"products_of_channels_last",
     "graph \"g\" { input %x : f32[1,8,16,16] input %w : f32[32,8,1,1] "
     "input %m : f32[32,8] %c = conv(%x, %w) %d = transpose(%c) {perm=[0,2,3,1]} "
     "%y = matmul(%d, %m) %t = transpose(%c) {perm=[0,1,3,2]} %z = add(%t, %c) "
     "output %y output %z }",
     6, 1, 0, 0},
    {"products_of_both_sides",
     "graph \"g\" { input %x : f32[1,16,8,8] input %w : f32[16,16,3,3] "
     "input %b : f32[1,16,8,8] %c = conv(%x, %w) {pads=[1,1,1,1]} %r = relu(%c) "
     "%p = avg_pool(%r) {kernel=[3,3], pads=[1,1,1,1]} %y = matmul(%r, %p) "
     "%z = add(%y, %b) %k = conv(%z, %w) {pads=[1,1,1,1]} output %k }",
     9, 5, 0, 0},
    {"both_branches",
     "graph \"g\" { input %x : f32[1,16,8,8] input %c : bool[] input %w : "
     "f32[16,16,3,3] "
     "%a = conv(%x, %w) {pads=[1,1,1,1]} %p = relu(%x) "
     "%y, %q = if(%c, %a, %w, %p, %a) {then_branch=graph \"then\" { "
     "input %a : f32[1,16,8,8] input %w : f32[16,16,3,3] "
     "%b = conv(%a, %w) {pads=[1,1,1,1]} %d = relu(%b) output %d output %a }, "
     "else_branch=graph \"else\" { input %p : f32[1,16,8,8] input %a : f32[1,16,8,8] "
     "%d = neg(%a) %e = mul(%d, %p) output %e output %d }} "
     "%z = add(%y, %a) output %z output %q output %y }",
     14, 4, 3, 0},
    {"branches_in_branches",
     "graph \"g\" { input %x : f32[3,5] input %c0 : bool[] input %c1 : bool[] "
     "%y = if(%c0, %c1, %x, %x, %c1) {then_branch=graph \"then\" { input %c : bool[] "
     "input %x : f32[3,5] %a = tanh(%x) "
     "%y = if(%c, %a, %x) {then_branch=graph \"a\" { input %a : f32[3,5] %b = neg(%a) "
     "output %b }, else_branch=graph \"b\" { input %x : f32[3,5] output %x }} "
     "%z = add(%y, %a) output %z }, "
     "else_branch=graph \"else\" { input %x : f32[3,5] input %c : bool[] "
     "%y = if(%c, %x) {then_branch=graph \"a\" { input %x : f32[3,5] %b = exp(%x) "
     "output %b }, else_branch=graph \"b\" { const %k : f32[3,5] = {0x1p+1 x 15} "
     "output %k }} output %y }} output %y }",
     15, 0, 4, 0},
    {"a_condition_that_is_computed",
     "graph \"g\" { input %x : f32[6] const %zero : f32[] = {0} %s = reduce_sum(%x) "
     "{axes=[0], keepdims=false} %c = greater(%s, %zero) "
     "%y = if(%c, %x, %x) {then_branch=graph \"then\" { input %x : f32[6] "
     "%a = reshape(%x) {shape=[2,3]} output %a }, else_branch=graph \"else\" { "
     "input %x : f32[6] %a = reshape(%x) {shape=[3,2]} %b = transpose(%a) {perm=[1,0]} "
     "output %b }} output %y output %y }",
     7, 0, 3, 0},
    {"states_and_stacks",
     "graph \"g\" { input %x : f32[5,3] input %w : f32[3,3] input %s : f32[3] "
     "%b = sigmoid(%x) %last, %y, %z = scan(%s, %b, %x, %w, %b) {n_state=1, n_scan=2, "
     "body=graph \"step\" { input %s : f32[3] input %e : f32[3] input %f : f32[3] "
     "input %w : f32[3,3] input %b : f32[5,3] "
     "%s2 = reshape(%s) {shape=[1,3]} %h = matmul(%s2, %w) %h1 = reshape(%h) "
     "{shape=[3]} "
     "%n = add(%h1, %e) %t = tanh(%n) %u = mul(%t, %f) %r = reduce_sum(%b) {axes=[0], "
     "keepdims=false} %v = add(%u, %r) %g = relu(%v) "
     "output %t output %g output %e }} output %last output %y output %z }",
     12, 0, 2, 0},
    {"states_change_places",
     "graph \"g\" { input %x : f32[4,2] input %s : f32[2] %t = neg(%s) %u = exp(%s) "
     "%a, %b, %c, %d, %y = scan(%s, %t, %u, %u, %x) {n_state=4, n_scan=1, "
     "body=graph \"step\" { input %a : f32[2] input %b : f32[2] input %c : f32[2] "
     "input %d : f32[2] input %e : f32[2] %n = add(%a, %e) %v = reshape(%c) "
     "{shape=[2]} "
     "output %b output %v output %n output %d output %d }} "
     "output %a output %b output %c output %d output %y }",
     14, 0, 0, 0},
    {"from_the_last_to_the_first",
     "graph \"g\" { input %x : f32[4,2] input %s : f32[2] %r = slice(%x) "
     "{starts=[3,0], steps=[-1,1], sizes=[4,2]} "
     "%last, %y = scan(%s, %r) {n_state=1, n_scan=1, body=graph \"step\" { "
     "input %s : f32[2] input %e : f32[2] %h = mul(%s, %s) %n = add(%h, %e) output %n "
     "output %n }} %b = slice(%y) {starts=[3,0], steps=[-1,1], sizes=[4,2]} "
     "output %b output %last }",
     9, 0, 0, 0},
    {"a_scan_over_nothing",
     "graph \"g\" { input %x : f32[0,2] input %s : f32[3] %last, %y = scan(%s, %x) "
     "{n_state=1, n_scan=1, body=graph \"step\" { input %s : f32[3] input %e : f32[2] "
     "%n = neg(%s) output %n output %e }} output %last output %y }",
     7, 0, 0, 0},
    {"a_scan_in_an_if_in_a_scan",
     "graph \"g\" { input %x : f32[3,4,2] input %s : f32[2] input %c : bool[] "
     "%k = exp(%s) %last, %y = scan(%s, %x, %c, %k) {n_state=1, n_scan=1, "
     "body=graph \"outer\" { input %s : f32[2] input %e : f32[4,2] input %c : bool[] "
     "input %k : f32[2] %t = tanh(%s) "
     "%n = if(%c, %t, %e, %k, %s) {then_branch=graph \"then\" { input %t : f32[2] "
     "input %e : f32[4,2] input %k : f32[2] %l, %p = scan(%t, %e, %k) "
     "{n_state=1, n_scan=1, body=graph \"inner\" { input %t : f32[2] input %f : f32[2] "
     "input %k : f32[2] %a = mul(%t, %k) %b = add(%a, %f) %d = sigmoid(%b) output %d "
     "output %a }} %q = reduce_sum(%p) {axes=[0], keepdims=false} %z = add(%l, %q) "
     "output %z }, else_branch=graph \"else\" { input %s : f32[2] %z = neg(%s) "
     "output %z }} %m = add(%n, %k) output %m output %n }} output %last output %y }",
     21, 0, 2, 0},
    {"parts_in_branches_and_loops",
     "graph \"g\" { input %x : f32[3,16] input %c : bool[] %s = reshape(%x) "
     "{shape=[48]} "
     "%t = neg(%x) %last, %y = scan(%s, %x, %t) {n_state=1, n_scan=1, "
     "body=graph \"step\" { input %s : f32[48] input %e : f32[16] input %t : f32[3,16] "
     "%a = slice(%s) {starts=[0], steps=[1], sizes=[16]} "
     "%b = slice(%s) {starts=[16], steps=[1], sizes=[32]} %d = exp(%e) %f = tanh(%b) "
     "%g = add(%a, %d) %n = concat(%f, %g) {axis=0} "
     "%u = slice(%t) {starts=[1,0], steps=[1,1], sizes=[1,16]} "
     "%v = reshape(%u) {shape=[16]} %w = concat(%e, %d, %v) {axis=0} output %n "
     "output %w }} "
     "%z = if(%c, %last, %y, %y) {then_branch=graph \"then\" { input %l : f32[48] "
     "input %y : f32[3,48] %m = reshape(%l) {shape=[1,48]} %h = sigmoid(%y) "
     "%z = concat(%h, %m) {axis=0} output %z }, else_branch=graph \"else\" { "
     "input %y : f32[3,48] %h = sin(%y) %k = slice(%h) {starts=[2,0], steps=[1,1], "
     "sizes=[1,48]} %z = concat(%k, %y) {axis=0} output %z }} output %z output %last }",
     18, 0, 13, 0},
    {"what_comes_before_a_loop_stays",
     "graph \"g\" { input %x : f32[5,8] input %s : f32[8] %k = exp(%s) %l = sin(%k) "
     "%last = scan(%s, %x, %k, %l) {n_state=1, n_scan=1, body=graph \"step\" { "
     "input %s : f32[8] input %e : f32[8] input %k : f32[8] input %l : f32[8] "
     "%a = mul(%k, %e) %v = softmax(%a) %b = add(%l, %v) %w = softmax(%b) "
     "%d = add(%w, %s) %g = softmax(%d) output %g }} output %last }",
     11, 0, 0, 0},
    {"one_value_under_two_names",
     "graph \"g\" { input %x : f32[1,16,9,9] input %c : bool[] "
     "input %w : f32[16,16,3,3] %b = conv(%x, %w) {pads=[1,1,1,1]} %a = relu(%b) "
     "%y = if(%c, %a, %w, %a, %x) {then_branch=graph \"then\" { "
     "input %p : f32[1,16,9,9] input %w : f32[16,16,3,3] input %q : f32[1,16,9,9] "
     "%d = conv(%p, %w) {pads=[1,1,1,1]} %e = add(%d, %q) %f = tanh(%e) "
     "%z = softmax(%f) output %z }, else_branch=graph \"else\" { "
     "input %x : f32[1,16,9,9] %z = neg(%x) output %z }} output %y }",
     14, 4, 1, 0},
};

/* Inputs but for x and conditions become constants, so that they are packed. */
static bool stays(const kiln_value *v) {
    return strcmp(v->name, "x") == 0 || v->type.dtype == KILN_BOOL;
}

static kiln_graph *with_weights(kiln_arena *a, const char *text) {
    return kiln_test_weighted_graph(a, text, stays);
}

static void check_close(const kiln_type *t, const void *got, const void *want,
                        const char *what) {
    const float *x = got, *y = want;
    double scale = 1;
    for (int64_t i = 0; i < kiln_type_elems(t); i++)
        scale = fmax(scale, fabs((double)y[i]));
    for (int64_t i = 0; i < kiln_type_elems(t); i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= tolerance * scale))
            fail_msg("%s: element %lld is %.9g, must be %.9g", what, (long long)i,
                     (double)x[i], (double)y[i]);
}

/* Random inputs; conditions are bits of the case's number. Returns how many cases there
 * are. */
static int fill(kiln_arena *a, const kiln_graph *g, int case_at, kiln_tensor *in) {
    int n_conditions = 0;
    for (size_t i = 0; i < g->inputs.n; i++) {
        in[i] = kiln_ref_random(a, &g->inputs.v[i]->type, kiln_test_seed() + i);
        if (in[i].type.dtype == KILN_BOOL)
            *(unsigned char *)in[i].data =
                (unsigned char)(case_at >> n_conditions++ & 1);
    }
    return 1 << n_conditions;
}

static kiln_session *open_session(kiln_model *m, int n_threads) {
    char error[KILN_ERROR_TEXT];
    const kiln_session_options o = {.n_threads = n_threads};
    kiln_session *s = kiln_session_open(m, &o, error);
    assert_non_null(s);
    assert_int_equal(kiln_session_run(s), -1); /* no input yet */
    return s;
}

/* All cases one after another in one session: nothing of a run is left to the next. */
static void check_session(kiln_arena *a, kiln_model *m, const kiln_graph *g,
                          int n_threads) {
    kiln_tensor in[4], want[8];
    kiln_err err = {0};
    kiln_session *s = open_session(m, n_threads);
    for (int at = 0; at < fill(a, g, at, in); at++) {
        kiln_assert_status_ok(kiln_ref_run(a, g, in, g->inputs.n, want, &err), &err);
        for (size_t i = 0; i < g->inputs.n; i++)
            assert_int_equal(kiln_session_set_input(s, (int)i, in[i].data), 0);
        if (kiln_session_run(s) != 0)
            fail_msg("%s", kiln_session_error(s));
        for (size_t i = 0; i < g->outputs.n; i++)
            check_close(&want[i].type, kiln_session_output(s, (int)i), want[i].data,
                        g->output_names.v[i]);
    }
    kiln_session_close(s);
}

/* Memory that holds NaN: what reads an element, or a tail lane, that nobody wrote is
 * found. */
static void *poison(void *arena, size_t bytes) {
    unsigned char *block = kiln_arena_alloc_raw(arena, bytes + 64);
    memset(block, 0xFF, bytes);
    return block;
}

static void keep_block(void *arena, void *block) {
    (void)arena;
    (void)block;
}

enum { FUSED, NOT_FUSED, OPTIMIZED, N_WAYS };

static void check_network(kiln_arena *a, const row *r, int way) {
    kiln_err err = {0};
    kiln_profile p;
    kiln_network n;
    kiln_model *m = NULL;
    const kiln_network_options o = {.no_fusion = way == NOT_FUSED};
    const kiln_graph *g = with_weights(a, r->text);
    kiln_graph *compiled = with_weights(a, r->text);
    if (way == OPTIMIZED)
        kiln_assert_status_ok(kiln_graph_optimize(compiled, NULL, &err), &err);
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    kiln_assert_status_ok(kiln_network_compile(a, compiled, &p, &o, &n, &err), &err);
    print_message("%s: %d steps, %d conversions, %zu kernels, %d views, %d in place, "
                  "%lld bytes (bound %lld)\n",
                  r->name, n.n_steps, n.n_conversions, n.kernel.n, n.n_views,
                  n.n_in_place, (long long)n.arena_bytes, (long long)n.lower_bound);
    if (way == OPTIMIZED) {
        const int more = p.vector_bytes < 64 ? r->n_more : 0;
        assert_true(n.n_steps <= r->n_steps + more);
        assert_true(n.n_conversions <= r->n_conversions + more);
        assert_true(n.n_views >= r->n_views);
    }
    const kiln_allocator poisoned = {poison, keep_block, a};
    const kiln_model_options memory = {.allocator = &poisoned};
    kiln_assert_status_ok(kiln_test_network_open(a, &n, &memory, &m, &err), &err);
    for (int n_threads = 1; n_threads <= 3; n_threads++)
        check_session(a, m, g, n_threads);
    kiln_model_close(m);
}

static void networks_compute_what_their_graphs_do(void **state) {
    for (int way = 0; way < N_WAYS; way++) {
        kiln_arena a;
        kiln_arena_init(&a);
        check_network(&a, *state, way);
        kiln_arena_fini(&a);
    }
}

/* ---- what is refused ------------------------------------------------------------- */

typedef struct refused_row {
    const char *name, *text, *why;
} refused_row;

static refused_row refused[] = {
    {"a_sequence_without_end",
     "graph \"g\" { input %x : f32[2000000000,0] %y = scan(%x) {n_state=0, n_scan=1, "
     "body=graph \"b\" { input %e : f32[0] output %e }} output %y }",
     "a sequence must have at most 1073741824 elements, has 2000000000"},
    {"sequences_in_sequences_without_end",
     "graph \"g\" { input %x : f32[100000,100000,0] %y = scan(%x) {n_state=0, "
     "n_scan=1, "
     "body=graph \"b\" { input %e : f32[100000,0] %z = scan(%e) {n_state=0, n_scan=1, "
     "body=graph \"c\" { input %f : f32[0] output %f }} output %z }} output %y }",
     "begins more than 1073741824 runs"},
};

static void networks_are_refused(void **state) {
    const refused_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_network n;
    kiln_graph *g = with_weights(a, r->text);
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    kiln_assert_fails(kiln_network_compile(a, g, &p, NULL, &n, &err), KILN_ERR_LIMIT,
                      &err, r->why);
}

int main(void) {
    kiln_test_add_rows(networks_compute_what_their_graphs_do, rows);
    kiln_test_add_rows(networks_are_refused, refused);
    return kiln_test_run("network");
}
