/* A language model of two LSTM layers. Zaremba, Sutskever, Vinyals: Recurrent neural
 * network regularization, 2014, section 4.1: "medium", 650 units a layer, 35 steps,
 * 10000 words; with the two biases per gate that ONNX and PyTorch have. Whole texts are
 * read 35 words at a time, and written one by one: both are here. */
#include "zoo/zoo_internal.h"

enum { WORDS = 10000, UNITS = 650, N_LAYERS = 2 };

static void put_i64(kiln_zoo_net *net, const char *name, int64_t v) {
    kiln_onnx_put_initializer(
        &net->w,
        kiln_onnx_raw_tensor(net->arena, name, KILN_ONNX_INT64, "1", &v, sizeof v));
}

/* One layer from `x` [steps,1,650]; states are h.<i> and c.<i>, results hn.<i> and cn.<i>.
 */
static const char *layer(kiln_zoo_net *net, const char *x, int i) {
    kiln_arena *const a = net->arena;
    const double reach = kiln_zoo_net_reach(KILN_GAIN_LINEAR, (int64_t)2 * UNITS);
    const char *const name = kiln_format(a, "rnn.%d", i);
    kiln_zoo_net_weight(net, kiln_format(a, "%s.weight_ih", name),
                        kiln_format(a, "1,%d,%d", 4 * UNITS, UNITS), 0.0, reach);
    kiln_zoo_net_weight(net, kiln_format(a, "%s.weight_hh", name),
                        kiln_format(a, "1,%d,%d", 4 * UNITS, UNITS), 0.0, reach);
    kiln_zoo_net_weight(net, kiln_format(a, "%s.bias", name),
                        kiln_format(a, "1,%d", 8 * UNITS), 0.0, reach);
    kiln_onnx_put_node(&net->w, "LSTM", name,
                       kiln_format(a, "%s,%s.weight_ih,%s.weight_hh,%s.bias,,h.%d,c.%d",
                                   x, name, name, name, i, i),
                       kiln_format(a, "%s,hn.%d,cn.%d", name, i, i));
    kiln_onnx_put_attr_int(&net->w, "hidden_size", UNITS);
    const char *const y = kiln_format(a, "%s.squeeze", name);
    kiln_onnx_put_node(&net->w, "Squeeze", y, kiln_format(a, "%s,directions", name), y);
    return y;
}

static void build(kiln_zoo_net *net, int n_steps) {
    kiln_onnx_writer *const w = &net->w;
    kiln_arena *const a = net->arena;
    const char *const state = kiln_format(a, "%d,1,%d", N_LAYERS, UNITS);
    kiln_onnx_put_input(w, "tokens", KILN_ONNX_INT64, kiln_format(a, "%d,1", n_steps));
    kiln_onnx_put_input(w, "h0", KILN_ONNX_FLOAT, state);
    kiln_onnx_put_input(w, "c0", KILN_ONNX_FLOAT, state);
    put_i64(net, "directions", 1); /* the axis of an LSTM's output that holds one */
    kiln_zoo_net_weight(net, "encoder.weight", kiln_format(a, "%d,%d", WORDS, UNITS),
                        0.0, kiln_zoo_net_reach(KILN_GAIN_LINEAR, 1));
    kiln_onnx_put_node(w, "Gather", "encoder", "encoder.weight,tokens", "encoder");
    kiln_onnx_put_attr_int(w, "axis", 0);
    kiln_onnx_put_node(w, "Split", "split_h", "h0", "h.0,h.1");
    kiln_onnx_put_attr_int(w, "axis", 0);
    kiln_onnx_put_node(w, "Split", "split_c", "c0", "c.0,c.1");
    kiln_onnx_put_attr_int(w, "axis", 0);
    const char *x = "encoder";
    for (int i = 0; i < N_LAYERS; i++)
        x = layer(net, x, i);
    kiln_zoo_net_weight(net, "decoder.weight", kiln_format(a, "%d,%d", UNITS, WORDS),
                        0.0, kiln_zoo_net_reach(KILN_GAIN_LINEAR, UNITS));
    kiln_zoo_net_weight(net, "decoder.bias", kiln_format(a, "%d", WORDS), 0.0, 0.05);
    kiln_onnx_put_node(w, "MatMul", "decoder", kiln_format(a, "%s,decoder.weight", x),
                       "decoder");
    kiln_onnx_put_node(w, "Add", "logits", "decoder,decoder.bias", "logits");
    kiln_onnx_put_node(w, "Concat", "hn", "hn.0,hn.1", "hn");
    kiln_onnx_put_attr_int(w, "axis", 0);
    kiln_onnx_put_node(w, "Concat", "cn", "cn.0,cn.1", "cn");
    kiln_onnx_put_attr_int(w, "axis", 0);
    kiln_onnx_put_output(w, "logits", KILN_ONNX_FLOAT,
                         kiln_format(a, "%d,1,%d", n_steps, WORDS));
    kiln_onnx_put_output(w, "hn", KILN_ONNX_FLOAT, state);
    kiln_onnx_put_output(w, "cn", KILN_ONNX_FLOAT, state);
}

static void build_text(kiln_zoo_net *net) { build(net, 35); }

static void build_step(kiln_zoo_net *net) { build(net, 1); }

const kiln_zoo_network kiln_zoo_lstm_lm = {
    .name = "lstm_lm",
    .doc = "language model, two LSTM layers of 650, 35 steps, 10000 words",
    .source = "Zaremba et al., 2014, medium; counts follow from its text",
    .n_params = 19780400,
    .muladds = 464100000,
    .build = build_text,
};

const kiln_zoo_network kiln_zoo_lstm_lm_step = {
    .name = "lstm_lm_step",
    .doc = "language model, two LSTM layers of 650, 1 step, 10000 words",
    .source = "Zaremba et al., 2014, medium; counts follow from its text",
    .n_params = 19780400,
    .muladds = 13260000,
    .build = build_step,
};
