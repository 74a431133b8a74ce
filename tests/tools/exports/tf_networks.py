"""Networks that Keras builds, and TensorFlow functions of detectors, all with weights drawn by a fixed seed.

ROWS has a function by name: it gives a Keras model, or a Detector, whose inputs have a batch of 1. What needs a Keras model
(its own files) asks is_keras.
"""
import keras
import numpy as np
import tensorflow as tf
import tf_keras as old_keras
from keras import layers as L
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

ROWS = {}


def row(make):
    ROWS[make.__name__] = make
    return make


def application(name, make, size, **options):
    def build():
        return make(weights=None, input_shape=(size, size, 3), classes=10, **options)
    ROWS[name] = build


A = keras.applications
application("resnet50", A.ResNet50, 64)
application("mobilenet_v2", A.MobileNetV2, 64)
application("mobilenet_v3_large", A.MobileNetV3Large, 64, include_preprocessing=False)
application("mobilenet_v3_small", A.MobileNetV3Small, 64, minimalistic=True)
application("efficientnet_b0", A.EfficientNetB0, 64)
application("densenet121", A.DenseNet121, 64)
application("inception_v3", A.InceptionV3, 96)
application("xception", A.Xception, 80)
application("convnext_tiny", A.ConvNeXtTiny, 64)


# ---- transformers ----

WIDTH, HEADS, LENGTH, VOCABULARY = 32, 4, 11, 97


def encoder(x, blocks=2, mask=None):
    for _ in range(blocks):
        y = L.MultiHeadAttention(HEADS, WIDTH // HEADS)(x, x, attention_mask=mask)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
        y = L.Dense(WIDTH)(L.Dense(2 * WIDTH, activation="gelu")(x))
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
    return x


class Places(L.Layer):
    """Adds a vector to each place of a sequence."""

    def build(self, shape):
        self.table = self.add_weight(shape=(1, shape[1], shape[2]), initializer="normal", name="table")

    def call(self, x):
        return x + self.table


@row
def bert():
    ids = keras.Input((LENGTH,), dtype="int32", name="ids")
    x = L.LayerNormalization()(Places()(L.Embedding(VOCABULARY, WIDTH)(ids)))
    x = encoder(x)
    first = L.Dense(WIDTH, activation="tanh")(x[:, 0])
    return keras.Model(ids, [x, first])


@row
def vit():
    image = keras.Input((32, 32, 3), name="image")
    x = L.Reshape((16, WIDTH))(L.Conv2D(WIDTH, 8, strides=8)(image))
    x = encoder(Places()(x))
    return keras.Model(image, L.Dense(10)(L.GlobalAveragePooling1D()(x)))


# The same of Keras' own layers, so that its own files have them: places are an input.


@row
def bert_of_layers():
    ids, places = (keras.Input((LENGTH,), dtype="int32", name=name) for name in ("ids", "places"))
    seen = keras.Input((LENGTH, LENGTH), dtype="bool", name="seen")
    x = L.Add()([L.Embedding(VOCABULARY, WIDTH)(ids), L.Embedding(VOCABULARY, WIDTH)(places)])
    x = encoder(L.LayerNormalization()(x), mask=seen)
    first = L.Dense(WIDTH, activation="tanh")(x[:, 0])
    return keras.Model([ids, places, seen], [x[:, 1:-1], first])


@row
def vit_of_layers():
    image, places = keras.Input((32, 32, 3), name="image"), keras.Input((16,), dtype="int32", name="places")
    x = L.Reshape((16, WIDTH))(L.Conv2D(WIDTH, 8, strides=8)(image))
    x = encoder(L.Add()([x, L.Embedding(VOCABULARY, WIDTH)(places)]))
    return keras.Model([image, places], L.Dense(10)(L.GlobalAveragePooling1D()(x)))


@row
def decoder():
    """Attention to itself, of earlier places only, and to another sequence; other normalisations."""
    x, memory = keras.Input((7, WIDTH), name="x"), keras.Input((LENGTH, WIDTH), name="memory")
    y = L.MultiHeadAttention(HEADS, 5, value_dim=6, use_bias=False)(x, x, use_causal_mask=True)
    y = L.RMSNormalization()(L.Add()([x, y]))
    y = L.MultiHeadAttention(HEADS, 8, output_shape=24)(y, memory, key=memory)
    y = L.UnitNormalization()(L.GroupNormalization(4)(L.Identity()(y)))
    return keras.Model([x, memory], y[..., ::-1, None, 2:20:3])


# ---- layers and functions that code has between others ----


@row
def prepared():
    """Images as training changes them, which is not at all afterwards, and sums of Inception-ResNet."""
    image = keras.Input((20, 17, 3), name="image")
    x = L.RandomZoom(0.2)(L.RandomRotation(0.1)(L.RandomFlip("horizontal")(image)))
    x = L.RandomBrightness(0.2)(L.RandomContrast(0.1)(L.RandomTranslation(0.1, 0.1)(x)))
    x = L.RandomSharpness(0.3)(L.RandomShear(0.2, 0.2)(x))
    x = L.CenterCrop(15, 12)(L.Resizing(18, 23)(x))
    x = L.Conv2D(6, 3, padding="same")(L.Resizing(8, 5, interpolation="nearest")(x))
    y = CustomScaleLayer(0.3)([x, L.Conv2D(6, 1)(x)])
    return keras.Model(image, L.EinsumDense("bhwc,cd->bhwd", (None, None, 7), bias_axes="d", activation="relu")(y))


@row
def attention_without_projections():
    a, b, c = (keras.Input((n, 6), name=name) for n, name in ((5, "a"), (7, "b"), (7, "c")))
    x = L.AdditiveAttention()([L.Attention(use_scale=True)([a, b]), c, b])
    return keras.Model([a, b, c], L.EinsumDense("btc,chd->bhtd", (3, 5, 4), bias_axes="hd")(x))


@row
def functions():
    """keras.ops, as a model's code calls them."""
    f, x = keras.ops, keras.Input((4, 6), name="x")
    y = f.mean(x / 2.5, axis=1)
    a = f.concatenate([y, f.relu(y) ** 2, f.silu(y), f.square(y), 1 / (2.5 + f.abs(y))], axis=-1)
    z = f.transpose(f.reshape(x, (-1, 3, 8)), (0, 2, 1))
    z = f.squeeze(f.gelu(f.expand_dims(z, 1)), 1)
    z = f.sqrt(f.clip(f.softmax(z, axis=1), 0.01, 0.5))
    z = f.matmul(z, f.reshape(x, (1, 3, 8)))
    b = f.stack([f.exp(-x), f.tanh(x), f.gelu(x, approximate=False), f.log(f.exp(x) + 1)], axis=-2)
    c = f.max(x, axis=-1, keepdims=True) - f.min(x, axis=(1, 2), keepdims=True)
    return keras.Model(x, [a, z, b, c, f.sum(x, axis=(0, -1)), keras.activations.relu(x, max_value=0.7)])


@row
def functions_of_axes():
    """Axes that move, repeat, split and join; diagonals; sums by letters."""
    f, x = keras.ops, keras.Input((4, 6), name="x")
    a = f.tile(f.swapaxes(x, 1, 2), (1, 2, 1))
    b = f.concatenate(f.split(f.moveaxis(a, -1, 1), [2, 7], axis=-1)[::-1], axis=-1)
    c = f.pad(f.diff(x, axis=1), ((0, 0), (0, 1), (2, 0)), constant_values=0.5)
    d = f.einsum("bij,bkj->bik", f.tril(x), f.triu(x, k=1))
    e = f.vstack([f.prod(x, axis=-1), f.average(x, axis=-1)])
    g = f.take_along_axis(x, f.argsort(x, axis=1), axis=1) * np.array([1, -2, 3, 4, 5, 6], "float32")
    h = f.reshape(x, (-1, 4, 2, 3))
    h = f.dot_product_attention(h, f.flip(h, 1), h, is_causal=True)
    return keras.Model(x, [b, c, d, e, g, h, f.trace(f.flip(x, 1), axis1=1, axis2=2), *f.unstack(x, axis=1)])


@row
def functions_of_numbers():
    """Quotients that round down, angles, activations and filters as functions."""
    f, x, ids = keras.ops, keras.Input((6, 8), name="x"), keras.Input((6, 8), dtype="int32", name="ids")
    y = x - 0.5
    a = f.stack([y % 0.3, y // 0.3, f.arctan2(y, x), f.hypot(x, y), f.logaddexp(x, y), f.divide_no_nan(y, f.relu(y))], axis=-1)
    b = f.stack([(30 - ids) % 7, (30 - ids) // 7, ids % -7, f.bitwise_and(ids, ids // 2)], axis=-1)
    c = f.stack([f.glu(y), f.hard_tanh(4 * y[..., ::2]), f.soft_shrink(y[..., 1::2], 0.2)], axis=-1)
    d = f.stack([f.log_sigmoid(y), f.celu(y), f.squareplus(y), f.leaky_relu(y), f.elu(y), f.hard_silu(8 * y)], axis=-1)
    blur = np.ones((3, 3, 1, 1), "float32") / 9
    e = f.max_pool(f.conv(f.expand_dims(y, -1), blur, padding="same"), 2)
    return keras.Model([x, ids], [a, b, c, d, e, f.layer_normalization(x), f.normalize(y, axis=1), f.count_nonzero(ids % 2, axis=1), y * ids])


@row
def functions_of_integers():
    """Numbers beside integers are integers; comparisons and what is made of truths."""
    f, x = keras.ops, keras.Input((9,), dtype="int32", name="ids")
    y = x + 1
    rows = L.Embedding(VOCABULARY + 1, 4)(y)
    is_large = f.logical_and(x > 30, f.logical_not(x >= 80))
    some = f.cast(f.any(is_large, axis=-1, keepdims=True), "float32")
    half = y * 0.5 - 2.0
    return keras.Model(x, [rows, f.where(is_large, x - 7, 0), f.cast(x != 50, "int32"), some * half, f.maximum(x, 20)])


@row
def wrapped():
    """Layers around layers, pools of so many windows, attention whose heads share keys."""
    image, x = keras.Input((11, 13, 3), name="image"), keras.Input((7, 6), name="x")
    y = L.SpectralNormalization(L.Conv2D(5, 3, activation="relu"))(L.Resizing(15, 14, interpolation="bicubic")(image))
    y = L.Add()([L.AdaptiveAveragePooling2D((4, 3))(y), L.AdaptiveMaxPooling2D((4, 3))(y)])
    y = L.AdaptiveAveragePooling1D(5)(L.Reshape((12, 5))(y))
    z = L.GroupQueryAttention(4, 6, 2, use_gate=True)(x, x, use_causal_mask=True)
    z = L.MultiHeadAttention(2, 3, sliding_window=2)(L.Add()([x, z]), x)
    z = L.GroupQueryAttention(3, 4, 1, use_bias=False, sliding_window=3)(z, x)
    return keras.Model([image, x], [y, L.AdaptiveMaxPooling1D(3)(z)])


# ---- others ----


@row
def unet():
    def block(x, n):
        x = L.BatchNormalization()(L.Conv2D(n, 3, padding="same", use_bias=False)(x))
        return L.ReLU()(x)
    image = keras.Input((32, 32, 3), name="image")
    a = block(image, 8)
    b = block(L.MaxPooling2D()(a), 16)
    c = block(L.MaxPooling2D()(b), 32)
    b = block(L.Concatenate()([L.Conv2DTranspose(16, 2, strides=2)(c), b]), 16)
    a = block(L.Concatenate()([L.UpSampling2D(interpolation="bilinear")(b), a]), 8)
    return keras.Model(image, L.Conv2D(2, 1)(a))


@row
def volumes():
    x = keras.Input((5, 6, 4, 2), name="x")
    y = L.MaxPooling3D((1, 2, 1))(L.Conv3D(6, 3, padding="same", activation="relu")(x))
    return keras.Model(x, L.Conv3DTranspose(3, (2, 3, 3), strides=(1, 2, 2), padding="same", activation="relu")(y))


@row
def lstm():
    ids = keras.Input((LENGTH,), dtype="int32", name="ids")
    x = L.Embedding(VOCABULARY, 16)(ids)
    x = L.Bidirectional(L.LSTM(12, return_sequences=True))(x)
    return keras.Model(ids, L.Dense(9)(L.LSTM(24)(x)))


@row
def gru():
    x = keras.Input((7, 6), name="x")
    return keras.Model(x, L.SimpleRNN(5)(L.GRU(8, return_sequences=True)(x)))


@row
def masked():
    """Sequences of which steps do not count, here and there: an embedding's zeros, a value of Masking."""
    ids, x = keras.Input((LENGTH,), dtype="int32", name="ids"), keras.Input((LENGTH, 3), name="x")
    few = L.Embedding(VOCABULARY, 6, mask_zero=True)(keras.ops.maximum(ids - 40, 0))
    y = L.Dropout(0.1)(L.LayerNormalization()(L.Dense(6)(few)))
    y = L.Bidirectional(L.LSTM(4, return_sequences=True))(L.Add()([y, few]))
    z = L.Masking(0.0)(keras.ops.relu(x - 0.8))
    z = L.GRU(5, return_sequences=True)(z)
    return keras.Model([ids, x], [y, L.GRU(4)(y), L.GlobalAveragePooling1D()(y), L.LSTM(3)(few), z,
                                  L.SimpleRNN(3, go_backwards=True)(z), L.Bidirectional(L.SimpleRNN(2))(z),
                                  L.LSTM(2, go_backwards=True, return_sequences=True)(z)])


@row
def masked_attention():
    """Attention of all kinds over sequences of which steps do not count, and what joins them."""
    ids, more = (keras.Input((n,), dtype="int32", name=name) for n, name in ((LENGTH, "ids"), (6, "more")))
    e, f = (L.Embedding(VOCABULARY, 8, mask_zero=True)(keras.ops.maximum(x - 40, 0)) for x in (ids, more))
    own = L.Embedding(VOCABULARY, 8, mask_zero=True)(keras.ops.maximum(ids - 60, 0))
    a = L.Attention()([e, f])
    b = L.AdditiveAttention()([own, f, f])
    c = L.Attention()([e, e], use_causal_mask=True)
    joined = L.LSTM(4)(L.Concatenate()([e, own]))
    behind = L.GRU(4)(L.Concatenate(axis=1)([e, f]))
    # Of what attention with heads reads it takes the mask away: last.
    g = L.GroupQueryAttention(4, 4, 2)(e, f)
    x = L.MultiHeadAttention(2, 4, dropout=0.1)(e, f)
    y = L.LayerNormalization()(L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True))
    return keras.Model([ids, more], [a, b, L.LSTM(3)(b), c, joined, behind, g, x, y, L.GlobalAveragePooling1D()(y)])


@row
def masked_in_line():
    """The same of a Sequential, whose file says nothing of masks."""
    return keras.Sequential([keras.Input((LENGTH, 3), name="x"), L.ReLU(threshold=0.9), L.Masking(),
                             L.Bidirectional(L.GRU(4, return_sequences=True)), L.LayerNormalization(),
                             L.SimpleRNN(5, return_sequences=True), L.GlobalAveragePooling1D()])


@row
def frames():
    """Recurrent convolutions, forwards and backwards, over images and lines."""
    x = keras.Input((4, 9, 8, 2), name="x")
    y = L.ConvLSTM2D(3, 3, padding="same", return_sequences=True)(x)
    y = L.ConvLSTM2D(4, (2, 3), strides=(1, 2), recurrent_activation="hard_sigmoid", go_backwards=True,
                     return_sequences=True)(y)
    z = L.ConvLSTM1D(5, 3, dilation_rate=2, use_bias=False)(L.Reshape((4, 8, 12))(y))
    return keras.Model(x, [y, z])


class Detector(tf.Module):
    """Boxes of four anchors a place, decoded, with their scores; `finish` picks."""
    CLASSES, BEST, SIZE = 3, 10, 32

    def __init__(self, finish):
        super().__init__()
        image = keras.Input((self.SIZE, self.SIZE, 3))
        x = L.Conv2D(16, 3, strides=2, padding="same", activation="relu")(image)
        x = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
        self.net = keras.Model(image, [L.Conv2D(4 * 4, 3, padding="same")(x),
                                       L.Conv2D(4 * self.CLASSES, 3, padding="same")(x)])
        self.finish = finish

    def __call__(self, image):
        delta, scores = self.net(image)
        n = self.SIZE // 4
        rows, columns = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
        centre = np.stack([rows, columns], -1).reshape(-1, 1, 2) + 0.5
        side = np.array([[0.8, 0.8], [1.6, 1.6], [0.7, 1.8], [1.8, 0.7]])
        centre, side = (np.broadcast_to(v, (n * n, 4, 2)).reshape(1, -1, 2) / n for v in (centre, side))
        delta = tf.reshape(delta, (1, n * n * 4, 4))
        middle = centre.astype(np.float32) + tf.tanh(delta[..., :2]) * 0.05
        size = side.astype(np.float32) * tf.exp(tf.clip_by_value(delta[..., 2:], -1.0, 1.0))
        boxes = tf.clip_by_value(tf.concat([middle - size / 2, middle + size / 2], -1), 0.0, 1.0)
        return self.finish(self, boxes, tf.sigmoid(tf.reshape(scores, (1, n * n * 4, self.CLASSES)) * 4.0))


@row
def detector_combined():
    """Each class by itself, the best of all: CombinedNonMaxSuppression."""
    def finish(d, boxes, scores):
        y = tf.image.combined_non_max_suppression(boxes[:, :, None], scores, 5, d.BEST, 0.4, 0.5)
        return dict(zip(("boxes", "scores", "classes", "count"), y))
    return Detector(finish)


@row
def detector_padded():
    """Boxes by their best class: NonMaxSuppressionV4, padded, and rows by its indices."""
    def finish(d, boxes, scores):
        best = tf.reduce_max(scores[0], -1)
        at, count = tf.raw_ops.NonMaxSuppressionV4(
            boxes=boxes[0], scores=best, max_output_size=d.BEST, iou_threshold=0.4, score_threshold=0.5,
            pad_to_max_output_size=True)
        keep = tf.cast(tf.range(d.BEST) < count, tf.float32)
        return {"boxes": tf.gather(boxes[0], at) * keep[:, None], "scores": tf.gather(best, at) * keep, "count": count}
    return Detector(finish)


@row
def detector_best():
    """No suppression: the best scores and their boxes."""
    def finish(d, boxes, scores):
        score, at = tf.math.top_k(tf.reduce_max(scores[0], -1), d.BEST)
        return {"boxes": tf.gather(boxes[0], at), "scores": score,
                "classes": tf.gather(tf.argmax(scores[0], -1, output_type=tf.int32), at)}
    return Detector(finish)


class Operators(tf.Module):
    """TensorFlow's own operators over an image."""

    def __init__(self, size, run):
        super().__init__()
        image = keras.Input((size, size, 3))
        self.net = keras.Model(image, L.Conv2D(4, 3, padding="same")(image))
        self.run = run

    def __call__(self, image):
        return self.run(image, self.net(image))


@row
def rounded_as_in_training():
    """Of the input itself, so that ties are the same for all."""
    def run(image, x):
        q = tf.quantization
        return {"args": q.fake_quant_with_min_max_args(image, -1.5, 2.0, 8),
                "vars": q.fake_quant_with_min_max_vars(image, tf.constant(-0.7), tf.constant(1.1), 6)}
    return Operators(9, run)


@row
def rounded_by_channels():
    def run(image, x):
        low, high = tf.constant([-1.0, -0.3, 0.0]), tf.constant([1.0, 2.0, 0.6])
        q = tf.quantization
        return {"channels": q.fake_quant_with_min_max_vars_per_channel(image, low, high, 4),
                "narrow": q.fake_quant_with_min_max_args(image, -1.5, 2.0, 5, narrow_range=True)}
    return Operators(9, run)


@row
def images():
    """Crops by boxes that data decides, cubic pieces, places of the largest."""
    def run(image, x):
        middle = tf.reshape(tf.sigmoid(x[0, :2, :3, :2]), (6, 2))
        size = tf.reshape(tf.sigmoid(x[0, :2, :3, 2:]), (6, 2)) * 0.8 - 0.2
        boxes = tf.concat([middle - size, middle + size], 1)
        two, which = tf.concat([image, x[..., :3]], 0), tf.constant([0, 1, 1, 0, 1, 0])
        best, at = tf.nn.max_pool_with_argmax(x, 3, 2, "SAME", include_batch_in_index=True)
        return {"crop": tf.image.crop_and_resize(two, boxes, which, (5, 4), extrapolation_value=0.5),
                "cubic": tf.image.resize(image, (15, 23), "bicubic"),
                "old": tf.raw_ops.ResizeBicubic(images=x, size=(17, 6), align_corners=True),
                "smaller": tf.raw_ops.ResizeBicubic(images=x, size=(4, 5)), "best": best, "at": at}
    return Operators(11, run)


@row
def picked():
    """What data decides the length of, read again: boolean_mask and its like."""
    def run(image, x):
        rows = tf.reshape(x, (-1, 4))
        few = tf.boolean_mask(rows, rows[:, 0] > 0.3)
        places = tf.where(rows > 0.5)
        return {"few": tf.nn.relu(few) + few[:, 1:2], "sum": tf.reduce_sum(few, 0), "mean": tf.reduce_mean(few),
                "largest": tf.reduce_max(few, 0), "places": places, "values": tf.gather_nd(rows, places) * 2.0,
                "times": tf.matmul(few, tf.ones((4, 3))), "column": few[:, 2]}
    return Operators(5, run)


@row
def angles():
    def run(image, x):
        return {"angle": tf.atan2(x[..., 0], x[..., 1]), "of_zero": tf.atan2(tf.nn.relu(x[..., 0]), x[..., 2])}
    return Operators(6, run)


@row
def bits():
    def run(image, x):
        i = tf.cast(x * 100.0, tf.int32)
        return {"other": tf.bitwise.bitwise_xor(i[..., 0], i[..., 1])}
    return Operators(6, run)


@row
def spectra():
    def run(image, x):
        f, line = tf.signal, tf.reshape(x[..., 0], (-1,))
        power = tf.square(tf.abs(f.stft(line, 16, 8)))
        mel = f.linear_to_mel_weight_matrix(5, 9, 8000, 100.0, 4000.0)
        whole = f.rfft2d(x[..., 1])
        return {"power": power, "mel": tf.math.log(tf.matmul(power, mel) + 0.01), "image": tf.abs(whole),
                "real": tf.math.real(whole), "imag": tf.math.imag(whole)}
    return Operators(8, run)


@row
def other_spectra():
    """What TensorFlow Lite has not."""
    def run(image, x):
        f, lines = tf.signal, tf.transpose(x[0], (0, 2, 1))
        s = f.rfft(lines)
        z = f.fft(tf.complex(lines, lines * 0.5 + 1.0)) - f.ifft(tf.complex(lines * 2.0, lines))
        joined = tf.concat([s[..., :2], tf.expand_dims(s[..., 2], -1)], -1)
        return {"back": f.irfft(s, [9]), "power": tf.math.real(s * tf.math.conj(s)), "size": tf.abs(tf.reshape(z, (-1,))),
                "longer": tf.abs(f.rfft(lines, [16])), "angle": tf.math.angle(tf.complex(lines + 3.0, lines)),
                "joined": tf.math.imag(joined)}
    return Operators(9, run)


@row
def diagonals():
    def run(image, x):
        a = tf.linalg
        return {"matrix": a.diag(x[..., 0]), "set": a.set_diag(x, x[..., 1, :] * 2.0)}
    return Operators(6, run)


@row
def other_diagonals():
    def run(image, x):
        a = tf.linalg
        return {"above": a.diag(x[0, 0], k=2, padding_value=0.25), "below": a.set_diag(image, image[:, :, 0], k=-3),
                "part": a.diag_part(x), "part_above": a.diag_part(image, k=1)}
    return Operators(6, run)


# ---- Keras 2 ----


@row
def old_functions():
    """TensorFlow's functions in a model's code, which Keras 2 writes as layers."""
    x, z, image = (old_keras.Input(shape, name=name) for name, shape in (("x", (4, 6)), ("z", (4, 6)), ("image", (8, 8, 4))))
    m, n = tf.math, tf.nn
    y = 1 - (x + 1) * [2.0, 3, 4, 5, 6, 7] / 3.0 + 3.0 / (tf.abs(z) + 2)
    a = tf.concat([y[:, 0], m.reduce_mean(x, axis=[1]), m.reduce_max(z, axis=1), z[:, 1, ::-1]], -1)
    b = tf.stack([n.softmax(x), n.relu(z), n.gelu(x), n.silu(z), n.elu(x), n.leaky_relu(x), n.leaky_relu(z, 0.1), -n.relu6(x)], axis=1)
    c = tf.matmul(x, z, transpose_b=True) @ tf.transpose(tf.reshape(z, [tf.shape(z)[0], 6, -1]), [0, 2, 1])
    d = tf.where(x > 0.5, tf.clip_by_value(z, -0.5, 0.9), m.l2_normalize(x, axis=-1)) + tf.cast(m.less(x, z), "float32")
    e = tf.expand_dims(m.squared_difference(x, z) ** 2, 1) + tf.tile(tf.squeeze(x[:, 2:3, None], axis=2)[:, :, None], [1, 2, 1, 1])
    f = tf.pad(tf.gather(x, [0, 2], axis=1), [[0, 0], [1, 0], [0, 2]]) + m.reduce_std(z, axis=1, keepdims=True)[:, :, :1]
    g = n.depth_to_space(tf.image.resize(image, (6, 4)), 2), n.space_to_depth(tf.image.resize(image, [4, 4], method="nearest"), 2)
    h = old_keras.layers.Dense(3)(m.add_n([x, z, tf.identity(x), tf.maximum(x, 0.5), tf.minimum(x, z), tf.ones_like(x)]))
    i = old_keras.applications.mobilenet_v2.preprocess_input(image) * n.relu6(image + 3.0) / 6.0
    k = n.bias_add(m.sqrt(m.exp(m.tanh(x))) + m.rsqrt(tf.square(z) + 1.0), [1.0, 2, 3, 4, 5, 6])
    first, second = tf.split(x, 2, axis=-1)
    a = a + tf.concat([m.square(second)[:, 0], *tf.unstack(first * second, axis=1), z[:, 1], first[:, 2]], -1)
    return old_keras.Model([x, z, image], [a, b, c, d, e, f, *g, h, i, k, m.log(m.sigmoid(x)), n.log_softmax(z), m.reduce_variance(x)])


@row
def old_windows():
    """More of them: windows over images, places, lengths."""
    x, image = old_keras.Input((4, 6), name="x"), old_keras.Input((8, 8, 4), name="image")
    m, n, draw = tf.math, tf.nn, np.random.default_rng(5)
    weights = lambda *shape: tf.constant(draw.normal(0, 0.3, shape).astype(np.float32))
    a = n.max_pool2d(n.conv2d(image, weights(3, 3, 4, 5), 1, "SAME"), 3, 2, "SAME")
    b = n.avg_pool2d(n.conv2d(image, weights(3, 2, 2, 6), [1, 2, 1, 1], [[0, 0], [2, 0], [1, 1], [0, 0]]), [1, 2, 2, 1], 2, "VALID")
    c = n.max_pool(n.depthwise_conv2d(image, weights(3, 3, 4, 2), [1, 1, 1, 1], "SAME", dilations=[2, 2]), 2, 1, "VALID")
    d = n.avg_pool(n.conv2d_transpose(image, weights(3, 3, 5, 4), [tf.shape(image)[0], 16, 16, 5], 2), [3, 2], 2, "SAME")
    e = n.convolution(x, weights(3, 6, 2)), n.conv1d(x, weights(2, 6, 3), 2, "SAME")
    best, at = m.top_k(x, 3)
    f = tf.one_hot(at, 7), tf.one_hot(m.argmax(x, -1), 6, 2.0, -1.0, axis=1), best
    g = m.cumsum(x, 1) + m.cumsum(x, -1, exclusive=True, reverse=True), m.cumprod(x, 2)
    h = tf.repeat(x, 2, axis=1), tf.repeat(x, [1, 0, 2, 3], axis=1), tf.reverse(x, [1, -1])
    i = x % 0.7 + x // 0.3, tf.cast(at, "int32") % 2 + at // 2
    j = tf.norm(x, axis=-1, keepdims=True), tf.norm(x, 1, axis=1), tf.norm(x, 3, axis=2), tf.norm(image, axis=[1, 2])
    k = m.erf(x) + n.selu(x), m.reduce_logsumexp(x, axis=-1), m.reduce_euclidean_norm(x, 1)
    l = tf.roll(image, [2, -3], [1, 2]), tf.slice(image, [0, 1, 0, 1], [-1, 7, -1, 2]), tf.pad(image, [[0, 0], [3, 1], [0, 2], [0, 0]], "REFLECT")
    return old_keras.Model([x, image], [a, b, c, d, *e, *f, *g, *h, *i, *j, *k, *l])


# ---- what programs do with them ----


def is_keras(model):
    return isinstance(model, (keras.Model, old_keras.Model))


def make(name):
    """The model, its inputs by name, and a function of one specification each that gives its outputs by name."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(sum(name.encode()))
    model = ROWS[name]()
    net = model if is_keras(model) else model.net
    draw = np.random.default_rng(7)
    for layer in net._flatten_layers():
        if isinstance(layer, L.BatchNormalization):  # as training leaves them
            n = layer.moving_mean.shape
            layer.moving_mean.assign(draw.normal(0, 0.2, n))
            layer.moving_variance.assign(draw.uniform(0.5, 2, n))
    inputs = {}
    for x in net.inputs:
        shape = (1,) + tuple(x.shape[1:])
        inputs[x.name if is_keras(model) else "image"] = (
            draw.integers(0, VOCABULARY, shape).astype(np.int32) if x.dtype == "int32"
            else draw.random(shape) < 0.7 if x.dtype == "bool"
            else draw.normal(0, 1, shape).astype(np.float32))
    names = list(inputs)

    def outputs(*x):
        options = {"training": False} if is_keras(model) else {}
        y = model(dict(zip(names, x)) if is_keras(model) and len(x) > 1 else x[0], **options)
        if isinstance(y, dict):
            return y
        return {f"out{i}": v for i, v in enumerate(y if isinstance(y, (list, tuple)) else [y])}
    return model, inputs, outputs
