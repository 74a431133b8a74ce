/* The inputs of UNIDIRECTIONAL_SEQUENCE_LSTM. Source: TensorFlow Lite,
 * lstm_shared.h. */
#ifndef KILN_COMPILER_FRONTEND_TFLITE_LSTM_H
#define KILN_COMPILER_FRONTEND_TFLITE_LSTM_H

#include "compiler/frontend/tflite/tflite_internal.h"

/* Of four gates each, input, forget, cell, output; but peepholes: input, forget,
 * output. */
enum {
    KILN_LSTM_W = 1,
    KILN_LSTM_R = 5,
    KILN_LSTM_PEEPHOLE = 9,
    KILN_LSTM_BIAS = 12,
    KILN_LSTM_PROJECTION = 16, /* weights, bias */
    KILN_LSTM_STATE = 18,      /* h, c */
    KILN_LSTM_NORM = 20
};

/* x [S, N, I] to y [S, N, H] step by step. */
kiln_status kiln_tflite_lstm_steps(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *x,
                                   kiln_value **y);

#endif
