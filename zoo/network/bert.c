/* Encoders of text. Devlin et al.: BERT, 2018, table 1 and section 3: "base" has 12
 * layers of 768 units and 12 heads; Turc et al.: Well-read students learn better, 2019,
 * table 1: "mini" has 4 layers of 256 units and 4 heads. One sequence of 128 tokens,
 * nothing padded: what classifies a text. */
#include "zoo/sequence.h"

#include <inttypes.h>

enum { N_TOKENS = 128, N_WORDS = 30522, N_POSITIONS = 512, N_SEGMENTS = 2 };

#define FMT(...) kiln_format(net->arena, __VA_ARGS__)

static const char *attention(kiln_zoo_net *net, const char *x,
                             const kiln_zoo_sequence *s, const char *name) {
    static const char *const part[] = {"query", "key", "value"};
    const char *turned[3];
    for (int i = 0; i < 3; i++) {
        const char *const y = FMT("%s.%s", name, part[i]);
        turned[i] = kiln_zoo_net_split_heads(
            net, kiln_zoo_net_dense(net, x, y, s->units, s->units), y, i == 1);
    }
    const char *const y =
        kiln_zoo_net_attend(net, turned[0], turned[1], turned[2], name);
    return kiln_zoo_net_dense(net, y, FMT("%s.output", name), s->units, s->units);
}

static const char *layer(kiln_zoo_net *net, const char *x, const kiln_zoo_sequence *s,
                         int i) {
    const char *const name = FMT("layer.%d", i);
    const char *y = attention(net, x, s, FMT("%s.attention", name));
    y = kiln_zoo_net_sum(net, y, x, FMT("%s.attention.sum", name));
    x = kiln_zoo_net_layer_norm(net, y, FMT("%s.attention.norm", name), s->units,
                                s->epsilon);
    y = kiln_zoo_net_dense(net, x, FMT("%s.inner", name), s->units, 4 * s->units);
    y = kiln_zoo_net_gelu(net, y, FMT("%s.gelu", name));
    y = kiln_zoo_net_dense(net, y, FMT("%s.outer", name), 4 * s->units, s->units);
    y = kiln_zoo_net_sum(net, y, x, FMT("%s.sum", name));
    return kiln_zoo_net_layer_norm(net, y, FMT("%s.norm", name), s->units, s->epsilon);
}

static void table(kiln_zoo_net *net, const char *name, int n_rows, int64_t units) {
    kiln_zoo_net_weight(net, FMT("%s.weight", name), FMT("%d,%" PRId64, n_rows, units),
                        0.0, kiln_zoo_net_reach(KILN_GAIN_LINEAR, 1));
}

/* With one segment only its row of the table is there: the other is never read, and
 * exporters fold it. */
static const char *embeddings(kiln_zoo_net *net, const kiln_zoo_sequence *s,
                              bool has_segments) {
    table(net, "word", N_WORDS, s->units);
    table(net, "position", N_POSITIONS, s->units);
    table(net, "segment", has_segments ? N_SEGMENTS : 1, s->units);
    kiln_zoo_net_put(net, "Gather", "word.weight,tokens", "word");
    kiln_zoo_net_put(net, "Slice", "position.weight,zero,n_tokens,zero", "position");
    kiln_zoo_net_put(net, "Add", "word,position", "placed");
    const char *segment = "segment.weight";
    if (has_segments)
        segment = kiln_zoo_net_put(net, "Gather", "segment.weight,segments", "segment");
    kiln_zoo_net_sum(net, "placed", segment, "embedded");
    return kiln_zoo_net_layer_norm(net, "embedded", "embedding.norm", s->units,
                                   s->epsilon);
}

static void build(kiln_zoo_net *net, const kiln_zoo_sequence *s, int n_layers,
                  bool has_segments) {
    kiln_onnx_put_input(&net->w, "tokens", KILN_ONNX_INT64, FMT("1,%d", N_TOKENS));
    if (has_segments)
        kiln_onnx_put_input(&net->w, "segments", KILN_ONNX_INT64,
                            FMT("1,%d", N_TOKENS));
    kiln_zoo_net_put_gelu(net);
    kiln_zoo_net_put_attention(net, s);
    kiln_zoo_net_put_i64s(net, "zero", (const int64_t[]){0}, 1);
    kiln_zoo_net_put_i64s(net, "n_tokens", (const int64_t[]){N_TOKENS}, 1);
    kiln_zoo_net_put_first(net, "first");
    const char *x = embeddings(net, s, has_segments);
    for (int i = 0; i < n_layers; i++)
        x = layer(net, x, s, i);
    kiln_zoo_net_put(net, "Gather", FMT("%s,first", x), "first_token");
    kiln_onnx_put_attr_int(&net->w, "axis", 1);
    kiln_zoo_net_dense(net, "first_token", "pooler", s->units, s->units);
    kiln_zoo_net_put(net, "Tanh", "pooler", "pooled");
    kiln_onnx_put_output(&net->w, x, KILN_ONNX_FLOAT,
                         FMT("1,%d,%" PRId64, N_TOKENS, s->units));
    kiln_onnx_put_output(&net->w, "pooled", KILN_ONNX_FLOAT,
                         FMT("1,%" PRId64, s->units));
}

static void build_mini(kiln_zoo_net *net) {
    const kiln_zoo_sequence s = {N_TOKENS, 256, 4, 1e-12};
    build(net, &s, 4, false);
}

static void build_base(kiln_zoo_net *net) {
    const kiln_zoo_sequence s = {N_TOKENS, 768, 12, 1e-12};
    build(net, &s, 12, true);
}

const kiln_zoo_network kiln_zoo_bert_mini = {
    .name = "bert_mini",
    .doc = "text encoder, 4 transformer layers of 256, 128 tokens",
    .source = "Turc et al., 2019, mini; counts follow from Devlin et al., 2018",
    .n_params = 11170304,
    .muladds = 436273152,
    .build = build_mini,
};

const kiln_zoo_network kiln_zoo_bert_base = {
    .name = "bert_base",
    .doc = "text encoder, 12 transformer layers of 768, 128 tokens",
    .source = "Devlin et al., 2018; parameters: Hugging Face, bert-base-uncased",
    .n_params = 109482240,
    .muladds = 11174215680,
    .build = build_base,
};
