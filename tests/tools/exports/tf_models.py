"""Networks that TensorFlow and Keras write, held to TensorFlow's own results.

    python tf_models.py --kiln build/gcc-release/kiln --work DIR [--filter TEXT] [--jobs N] [--keep]

Each network (tf_networks.py) is drawn with a fixed seed, run by TensorFlow, and written as a SavedModel, as a frozen
GraphDef, as TensorFlow Lite (held to its own interpreter, without its delegate), and, where it is a Keras model of Keras' own layers, as .keras and
.h5. kiln must compile each file and give their numbers. What TensorFlow itself cannot write is counted by itself. The exit code is 1
where anything of kiln's failed.
"""
import os
import shutil
import sys
import warnings

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np

import every
import golden

with every.quiet():  # what it can do on this machine
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    import tf_networks


def function_of(outputs, inputs):
    """What is saved: one signature, inputs of a fixed shape."""
    specs = [tf.TensorSpec(x.shape, x.dtype, name=name) for name, x in inputs.items()]
    return tf.function(outputs, input_signature=specs)


def as_numpy(outputs):
    return {name: np.asarray(y) for name, y in outputs.items()}


def saved(made, folder):
    model, inputs, outputs = made
    path = os.path.join(folder, "saved")
    holder = tf.Module()
    holder.kept, holder.run = model, function_of(outputs, inputs)
    tf.saved_model.save(holder, path, signatures=holder.run.get_concrete_function())
    back = tf.saved_model.load(path)  # as the file names them
    call = back.signatures["serving_default"]
    return path, inputs, as_numpy(call(**{name: tf.constant(x) for name, x in inputs.items()}))


def constants(made, is_lowered):
    """The network as a function without variables; lowered: loops and branches are those of TensorFlow 1."""
    _, inputs, outputs = made
    return convert_variables_to_constants_v2(function_of(outputs, inputs).get_concrete_function(),
                                             lower_control_flow=is_lowered)


def graph_def(is_lowered):
    def write(made, folder):
        path = os.path.join(folder, "model.pb")
        graph = constants(made, is_lowered)
        text = graph.graph.as_graph_def()
        if is_lowered and not any(n.op in ("Merge", "While") for n in text.node):
            return None  # the other form is the same
        with open(path, "wb") as f:
            f.write(text.SerializeToString())
        got = graph(*map(tf.constant, made[1].values()))
        got = list(got.values()) if isinstance(got, dict) else got
        named = {y.op.name if y.name.endswith(":0") else y.name: np.asarray(v) for y, v in zip(graph.outputs, got)}
        return path, made[1], named
    return write


def slots_of(run, inputs):
    """The interpreter's inputs in the order of ours: it has its own, and says "serving_default_x:0" for x."""
    slots = {slot["name"].removeprefix("serving_default_").partition(":")[0]: slot for slot in run.get_input_details()}
    return [slots[name] for name in inputs] if len(inputs) > 1 else list(slots.values())


def lite(made, folder):
    inputs = made[1]
    path = os.path.join(folder, "model.tflite")
    call = constants(made, False)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([call], made[0])
    with open(path, "wb") as f:
        f.write(converter.convert())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = tf.lite.Interpreter(path, num_threads=1, experimental_op_resolver_type=(
            tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES))
    run.allocate_tensors()
    by_place = {}
    for slot, x in zip(slots_of(run, inputs), inputs.values()):
        by_place[slot["name"]] = x
        run.set_tensor(slot["index"], x)
    run.invoke()
    return path, by_place, {slot["name"]: run.get_tensor(slot["index"]) for slot in run.get_output_details()}


def keras_file(suffix):
    def write(made, folder):
        model, inputs, outputs = made
        if not tf_networks.is_keras(model) or any(isinstance(x, tf_networks.Places) for x in model.layers):
            return None
        path = os.path.join(folder, "model" + suffix)
        model.save(path)
        origins = (x._keras_history for x in model.inputs)
        names = ((h.operation if hasattr(h, "operation") else h.layer).name for h in origins)  # as the file has them
        return path, dict(zip(names, inputs.values())), as_numpy(outputs(*inputs.values()))
    return write


FORMS = {"saved": saved, "frozen": graph_def(False), "lowered": graph_def(True), "tflite": lite, "keras": keras_file(".keras"), "h5": keras_file(".h5")}


def check(o, name, form, folder):
    os.makedirs(folder, exist_ok=True)
    try:
        with every.quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            written = FORMS[form](tf_networks.make(name), folder)
    except Exception as e:  # there are many kinds
        return "refused", f"{type(e).__name__}: {str(e).strip()[:160]}"
    if written is None:
        return None
    path, inputs, want = written
    if not all(np.isfinite(y).all() for y in want.values() if y.dtype.kind == "f"):
        return "failed", "TensorFlow's own results are not finite: nothing would be shown"
    golden.write(folder, name, f"tensorflow {tf.__version__}", inputs, want)
    why = every.call([o.kiln, "verify", path, "--golden", folder, "--profile", "native"])
    return ("right", "") if why is None else ("failed", why)


def run(name, o):
    """All of one network's, in a process of its own."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    rows = []
    for form in FORMS:
        if o.form and form not in o.form:
            continue
        folder = os.path.join(o.work, f"{name}-{form}")
        result = check(o, name, form, folder)
        if result is not None:
            rows.append((f"{name} {form}", *result))
        if (result is None or result[0] != "failed") and not o.keep:
            shutil.rmtree(folder)
    return rows


def main():
    o = every.options(form={"action": "append", "help": f"only this of {', '.join(FORMS)} (may be repeated)"})
    every.all_of(run, tf_networks.ROWS, o, "files", "TensorFlow", f"tensorflow {tf.__version__}")


if __name__ == "__main__":
    main()
