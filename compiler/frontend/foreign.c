/* Models of other frameworks, known by their content, with the way to ONNX. Nothing of
 * them is read: the caller learns what the file is, not only what it is not. */
#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/frontend_inputs.h"

#include <string.h>

enum { HEAD_BYTES = 64 * 1024 };

static kiln_str head_of(kiln_str file) {
    return (kiln_str){file.p, file.n < HEAD_BYTES ? file.n : HEAD_BYTES};
}

static bool begins(kiln_str file, size_t at, const char *magic, size_t n) {
    return file.n >= at + n && memcmp(file.p + at, magic, n) == 0;
}
#define BEGINS(file, at, magic) begins((file), (at), (magic), sizeof(magic) - 1)

/* ---- by a magic number ----------------------------------------------------------- */

static bool is_executorch(kiln_str f) { return BEGINS(f, 4, "ET12"); }
/* Sections are named by wide characters: "BCN". */
static bool is_old_cntk(kiln_str f) { return BEGINS(f, 0, "B\0C\0N\0\0\0"); }
static bool is_gguf(kiln_str f) { return BEGINS(f, 0, "GGUF"); }
static bool is_ncnn(kiln_str f) { return BEGINS(f, 0, "7767517\n"); }

/* A length, then a JSON object of that length. */
static bool is_safetensors(kiln_str f) {
    uint64_t n = 0;
    for (size_t i = 0; i < 8 && f.n > 9; i++)
        n |= (uint64_t)(unsigned char)f.p[i] << (8 * i);
    return n > 1 && n <= f.n - 8 && f.p[8] == '{';
}

/* ---- text ------------------------------------------------------------------------ */

static bool is_openvino(kiln_str f) {
    const kiln_str h = head_of(f);
    return kiln_import_holds(h, "<net ") && kiln_import_holds(h, "<layers>") &&
           kiln_import_holds(h, "<layer ");
}

/* ---- all ------------------------------------------------------------------------- */

#define FROM_ITS_FRAMEWORK "export the model as ONNX from the framework it was made in"

/* Strict ones first. */
static const struct {
    bool (*is)(kiln_str file);
    const char *what, *way;
} formats[] = {
    {is_old_cntk, "a model of CNTK 1",
     "load it by CNTK 2 (Function.load), then save('model.onnx', "
     "format=ModelFormat.ONNX)"},
    {is_executorch, "an ExecuTorch program", FROM_ITS_FRAMEWORK},
    {is_gguf, "a GGUF file", FROM_ITS_FRAMEWORK},
    {is_ncnn, "an ncnn model", FROM_ITS_FRAMEWORK},
    {is_safetensors, "a safetensors file: weights without a model",
     "load them into their model, then torch.onnx.export(model, inputs, "
     "'model.onnx')"},
    {is_openvino, "an OpenVINO model", FROM_ITS_FRAMEWORK},
};

static kiln_status refuse(const char *path, const char *what, const char *way,
                          kiln_err *err) {
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "'%s' is %s, which kiln does not read; convert it to ONNX: %s",
                     path, what, way);
}

kiln_status kiln_foreign_check(const char *path, kiln_str bytes, kiln_err *err) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].is(bytes))
            return refuse(path, formats[i].what, formats[i].way, err);
    return KILN_OK;
}

kiln_status kiln_foreign_check_folder(kiln_arena *a, const char *path, kiln_err *err) {
    if (kiln_dir_exists(kiln_path_join(a, path, "Data/com.apple.CoreML")))
        return refuse(path, "a Core ML package", FROM_ITS_FRAMEWORK, err);
    return KILN_OK;
}
