/* TVM's Figure 4 (Chen et al., OSDI 2018, section 3): pieces of networks with each
 * operator in a kernel of its own, and fused.
 *
 * Batch normalisation is the scale and shift that it is at inference, and is not folded
 * into weights: with that there would be nothing left to fuse. No graph pass runs on the
 * pieces. */
#include "pipeline/study/study_internal.h"

#include "compiler/graph/graph.h"

typedef struct piece {
    const char *name, *text;
} piece;

#define NORM(c)                                                                        \
    "const %s : f32[" c ",1,1] = random(2) const %t : f32[" c ",1,1] = random(3) "     \
    "%b = mul(%a, %s) %d = add(%b, %t) %y = relu(%d) output %y \"y\" }"
#define PART(from) "{starts=[0," from "], steps=[1,1], sizes=[1,128]} "
#define CELL(n)                                                                        \
    "input %x : f32[1,128] input %h : f32[1,128] "                                     \
    "const %w : f32[128," n "] = random(1) const %u : f32[128," n "] = random(2) "     \
    "const %b : f32[" n "] = random(3) %p = matmul(%x, %w) %q = matmul(%h, %u) "       \
    "%r = add(%p, %q) %g = add(%r, %b) "

/* Shapes as the figure has them. */
static const piece pieces[] = {
    {"conv+bn+relu 128x28x28 1x1x256",
     "graph \"conv_bn_relu\" { input %x : f32[1,128,28,28] "
     "const %w : f32[256,128,1,1] = random(1) %a = conv(%x, %w) " NORM("256")},
    {"depthwise-conv+bn+relu 512x14x14 3x3",
     "graph \"depthwise_bn_relu\" { input %x : f32[1,512,14,14] "
     "const %w : f32[512,1,3,3] = random(1) "
     "%a = conv(%x, %w) {pads=[1,1,1,1], groups=512} " NORM("512")},
    {"rnn cell, hidden 128",
     "graph \"rnn_cell\" { " CELL("128") "%y = tanh(%g) output %y \"h\" }"},
    {"lstm cell, hidden 128",
     "graph \"lstm_cell\" { input %c : f32[1,128] " CELL("512") "%i0 = slice(%g) " PART("0") "%f0 = slice(%g) " PART(
         "128") "%g0 = slice(%g) " PART("256") "%o0 = slice(%g) " PART("384") "%i = "
                                                                              "sigmoid("
                                                                              "%i0) %f "
                                                                              "= "
                                                                              "sigmoid("
                                                                              "%f0) %j "
                                                                              "= "
                                                                              "tanh(%"
                                                                              "g0) %o "
                                                                              "= "
                                                                              "sigmoid("
                                                                              "%o0) "
                                                                              "%k = "
                                                                              "mul(%f, "
                                                                              "%c) %l "
                                                                              "= "
                                                                              "mul(%i, "
                                                                              "%j) %m "
                                                                              "= "
                                                                              "add(%k, "
                                                                              "%l) %n "
                                                                              "= "
                                                                              "tanh(%m)"
                                                                              " "
                                                                              "%y = "
                                                                              "mul(%o, "
                                                                              "%n) "
                                                                              "output "
                                                                              "%m "
                                                                              "\"c\" "
                                                                              "output "
                                                                              "%y "
                                                                              "\"h\" "
                                                                              "}"},
};
enum { N_PIECES = sizeof pieces / sizeof pieces[0], N_WAYS = 2 };

static const kiln_study_way ways[N_WAYS] = {
    {.name = "apart", .net = {.no_fusion = true}}, {.name = "fused"}};

static kiln_status piece_source(kiln_arena *a, const piece *p, kiln_source *out,
                                kiln_err *err) {
    kiln_source s = {.name = p->name};
    KILN_TRY(kiln_graph_parse(a, kiln_str_from(p->text), p->name, &s.imported, err));
    s.graph = kiln_graph_clone(a, s.imported);
    kiln_graph_renumber(s.imported);
    kiln_graph_renumber(s.graph);
    kiln_graph_cost(s.graph, &s.cost);
    *out = s;
    return KILN_OK;
}

/* One row of ways; what cannot be read or expected is a row, too. */
static kiln_status compare(kiln_arena *a, const piece *p, const char *model,
                           const kiln_study_options *o, kiln_doc_study_part *part,
                           kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_source source;
    kiln_status st = p != NULL ? piece_source(&scratch, p, &source, err)
                               : kiln_source_read(&scratch, model, NULL, &source, err);
    if (st == KILN_OK)
        st = kiln_study_compare(a, &scratch, &source, ways, N_WAYS, o, part, err);
    kiln_arena_fini(&scratch);
    return kiln_study_settle(a, part, p != NULL ? p->name : kiln_study_name(a, model),
                             ways[0].name, o->threads, st, err);
}

kiln_status kiln_study_fusion(kiln_arena *a, const kiln_study_options *o,
                              kiln_doc_study *out, kiln_err *err) {
    kiln_status st = KILN_OK;
    kiln_doc_study s;
    kiln_study_begin(a, "fusion", o, &s);
    kiln_doc_study_part part = {
        .name = "fusion",
        .title = "Fused and not",
        .source = "TVM, OSDI 2018, Figure 4",
        .shape =
            "On an NVIDIA Titan X fusing made each of the pieces 1.2 to 2 times as "
            "fast: what is between operators stays out of memory. Here each "
            "operator has a kernel of its own first ('apart'), then kiln's fusion "
            "decides."};
    for (int i = 0; i < N_PIECES && st == KILN_OK; i++)
        st = compare(a, &pieces[i], NULL, o, &part, err);
    for (int i = 0; o->model != NULL && o->model[i] != NULL && st == KILN_OK; i++)
        st = compare(a, NULL, o->model[i], o, &part, err);
    kiln_vec_push(a, &s.part, part);
    return kiln_study_end(&s, st, out, err);
}
