/* Inside TorchScript: an archive, its values, and the run of its code.
 *
 * `forward` runs at import, once, over values that are known: numbers, texts, lists,
 * objects, and tensors, of which the type is known and the elements are a value of the
 * Graph. So what the code decides by shapes and numbers is decided then, and what it
 * calls of torch becomes nodes (aten.h). What depends on a tensor's elements is refused
 * unless they are constants. */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_SCRIPT_INTERNAL_H
#define KILN_COMPILER_FRONTEND_PYTORCH_SCRIPT_INTERNAL_H

#include "compiler/frontend/frontend_internal.h"
#include "compiler/frontend/frontend_inputs.h"
#include "compiler/frontend/pytorch/aten/aten.h"
#include "compiler/frontend/pytorch/pickle/pickle.h"
#include "compiler/frontend/pytorch/script/script.h"
#include "compiler/frontend/pytorch/script/script_syntax.h"

enum {
    KILN_SCRIPT_MAX_CALLS = 100,    /* calls inside each other */
    KILN_SCRIPT_MAX_DEPTH = 600,    /* expressions and blocks, over all of these */
    KILN_SCRIPT_MAX_STEPS = 4 << 20 /* statements and expressions that are run; large
                                       models have some 100000 */
};

/* An archive's entries by name, without the folder that all of them lie in: "data.pkl". */
typedef struct kiln_script_archive {
    kiln_map entry; /* kiln_str *: views of the file, or unpacked in the arena */
} kiln_script_archive;
kiln_status kiln_script_open(kiln_arena *a, kiln_str bytes, kiln_script_archive *out,
                             kiln_err *err);
/* As kiln_script_import, of what is opened: for tests. */
kiln_status kiln_script_import_archive(kiln_arena *a, const kiln_script_archive *z,
                                       const char *name, const kiln_import_options *o,
                                       kiln_graph **out, kiln_import_report *report,
                                       kiln_err *err);

/* ---- values ----------------------------------------------------------------------- */

typedef enum kiln_script_kind {
    KILN_SCRIPT_V_UNSET, /* uninitialized(T): must not be read */
    KILN_SCRIPT_V_NONE,
    KILN_SCRIPT_V_BOOL,   /* i */
    KILN_SCRIPT_V_INT,    /* i */
    KILN_SCRIPT_V_FLOAT,  /* f */
    KILN_SCRIPT_V_TEXT,   /* s */
    KILN_SCRIPT_V_DEVICE, /* always a CPU */
    KILN_SCRIPT_V_TENSOR,
    KILN_SCRIPT_V_LIST,
    KILN_SCRIPT_V_TUPLE,
    KILN_SCRIPT_V_DICT, /* keys and values by turns */
    KILN_SCRIPT_V_OBJECT,
    KILN_SCRIPT_V_NAME /* s: a function or class, "__torch__.net.relu" */
} kiln_script_kind;

typedef struct kiln_script_tensor kiln_script_tensor;
typedef struct kiln_script_list kiln_script_list;
typedef struct kiln_script_object kiln_script_object;

typedef struct kiln_script_value {
    kiln_script_kind kind;
    int64_t i;
    double f;
    kiln_str s;
    kiln_script_tensor *tensor;
    kiln_script_list *list;
    kiln_script_object *object;
} kiln_script_value;

struct kiln_script_list {
    KILN_VEC(kiln_script_value) item;
    const kiln_script_class *named; /* of a NamedTuple; else NULL */
};

/* A tensor as the code knows it: names that are the same tensor share it, so that an
 * operator that writes into it changes it for all of them. A view has a base; what is
 * written into one of the two makes the other stale. */
struct kiln_script_tensor {
    kiln_value *v;
    kiln_script_tensor *base; /* NULL: no view */
    int version;              /* of writes into it */
    int base_version;         /* of the base, when the view was taken */
    bool is_stale;  /* a view of it was written, and it could not be updated */
    bool is_unsure; /* a view or a copy of the base */
    int n_views;    /* bases behind each other */
    size_t at;      /* which of the tensors that the view's operator gives */
    kiln_str op;    /* that made the view, and its arguments */
    const kiln_aten_value *arg;
    size_t n_arg;
};

struct kiln_script_object {
    const kiln_pickle_value *pickle; /* NULL: made by the code */
    kiln_str type;                   /* "__torch__.net.Net" */
    const char *path; /* of the module: "layer1.0.conv1"; "" of the root */
    kiln_map attr;    /* kiln_script_value *, of those that were asked for or set */
};

/* ---- the import ------------------------------------------------------------------- */

/* What a node is made for (kiln_import_cx.site). */
typedef struct kiln_script_site {
    const char *path; /* of the module */
    kiln_str op;
} kiln_script_site;

typedef struct kiln_script_cx {
    kiln_import_cx common; /* first */
    const kiln_script_archive *archive;
    const kiln_import_options *options;
    kiln_import_report *report;
    kiln_arena *kept; /* trees of the code: they outlive a run that begins again */
    kiln_map *files;  /* kiln_script_file *, by the name of the entry */
    kiln_map objects; /* kiln_script_object *, by the pickle's value */
    kiln_map tensors; /* kiln_script_tensor *, likewise */
    const kiln_pickle_value *root;      /* the model */
    const kiln_pickle_value *constants; /* a tuple; NULL: none */
    int64_t steps_left;
    int depth;   /* of expressions and blocks that run inside each other */
    int n_calls; /* that are open */
    int n_noted; /* of them, in a message */
    const kiln_script_function *in; /* that runs; NULL: none */
    int line;
    const char *path; /* of the module whose method runs */
    /* Inputs whose element type the file does not say: 32-bit floats, until an operator
     * needs another; then the run begins again (script_inputs.c). */
    kiln_dtype *input_dtype;
    bool *is_input_fixed; /* the caller or an operator said it */
    size_t n_inputs;
    kiln_value **input;
    bool is_again;
} kiln_script_cx;

/* Names of a function that runs. */
typedef struct kiln_script_frame {
    kiln_map names; /* kiln_script_value * */
} kiln_script_frame;

/* Arguments of a call: by place, then by name (name.p not NULL). */
typedef struct kiln_script_args {
    kiln_script_value *v;
    kiln_str *name;
    size_t n;
} kiln_script_args;

/* A failure with the place in the code that runs. A macro, as kiln_fail is. */
#define kiln_script_fail(cx, status, ...)                                              \
    (kiln_fail_text((cx)->common.err, (status), __VA_ARGS__), kiln_fail_status(status))

/* ---- archive and code: script_archive.c ------------------------------------------- */

/* "__torch__.net.Net" is in code/__torch__/net.py. KILN_ERR_PARSE: there is no such. */
kiln_status kiln_script_find_class(kiln_script_cx *cx, kiln_str name,
                                   const kiln_script_class **out);
/* A function, or NULL where the name is of a class. */
kiln_status kiln_script_find(kiln_script_cx *cx, kiln_str name,
                             const kiln_script_function **function,
                             const kiln_script_class **type);
/* NULL: it has no such method. */
const kiln_script_function *kiln_script_method(const kiln_script_class *c,
                                               kiln_str name);

/* ---- values and objects: script_object.c ------------------------------------------ */

kiln_script_value kiln_script_of_tensor(kiln_script_cx *cx, kiln_value *v);
kiln_script_value kiln_script_of_int(int64_t i);
kiln_script_value kiln_script_of_float(double f);
kiln_script_value kiln_script_of_bool(bool b);
kiln_script_value kiln_script_none(void);
kiln_script_value kiln_script_new_list(kiln_script_cx *cx, kiln_script_kind kind);
void kiln_script_push(kiln_script_cx *cx, kiln_script_value *list,
                      kiln_script_value item);
/* For messages and torch.format. */
void kiln_script_show(kiln_buf *b, const kiln_script_value *v, int depth);
bool kiln_script_equal(const kiln_script_value *x, const kiln_script_value *y);
/* A value of the pickle; `path` names tensors and modules in it. */
kiln_status kiln_script_unpickle(kiln_script_cx *cx, const kiln_pickle_value *p,
                                 const char *path, kiln_script_value *out);
kiln_status kiln_script_get_attr(kiln_script_cx *cx, const kiln_script_value *of,
                                 kiln_str name, kiln_script_value *out);
void kiln_script_set_attr(kiln_script_cx *cx, kiln_script_object *o, kiln_str name,
                          kiln_script_value v);
kiln_status kiln_script_constant(kiln_script_cx *cx, kiln_str name,
                                 kiln_script_value *out);

/* ---- running: script_run.c, script_eval.c, script_call.c --------------------------- */

kiln_status kiln_script_step(kiln_script_cx *cx, int line);
kiln_status kiln_script_enter(kiln_script_cx *cx); /* one deeper */
/* As so many steps: for what makes long lists. */
kiln_status kiln_script_spend(kiln_script_cx *cx, size_t n);
kiln_status kiln_script_eval(kiln_script_cx *cx, kiln_script_frame *f,
                             const kiln_script_expr *e, kiln_script_value *out);
/* Of a condition: a number, a text, or a constant tensor. */
kiln_status kiln_script_truth(kiln_script_cx *cx, const kiln_script_value *v,
                              bool *out);
/* A function of the file. */
kiln_status kiln_script_run(kiln_script_cx *cx, const kiln_script_function *fn,
                            const kiln_script_args *args, kiln_script_value *out);
kiln_status kiln_script_eval_call(kiln_script_cx *cx, kiln_script_frame *f,
                                  const kiln_script_expr *e, kiln_script_value *out);
/* A method of an object. */
kiln_status kiln_script_call_method(kiln_script_cx *cx, const kiln_script_value *self,
                                    kiln_str name, const kiln_script_args *args,
                                    kiln_script_value *out);
/* By a whole name: "torch.conv2d", "ops.prim.dtype", "__torch__.net.relu". */
kiln_status kiln_script_call_name(kiln_script_cx *cx, kiln_str name,
                                  const kiln_script_args *args, kiln_script_value *out);
/* "a.b.c" of members of a name; false: it is something else. */
bool kiln_script_dotted(kiln_script_cx *cx, const kiln_script_expr *e, kiln_buf *out);

/* ---- what torch does ---------------------------------------------------------------- */

/* script_builtin.c: of Python's own values. *is_done false: it is none of these. */
kiln_status kiln_script_builtin(kiln_script_cx *cx, kiln_str name,
                                const kiln_script_args *args, kiln_script_value *out,
                                bool *is_done);
/* script_tensor.c: operators that become nodes. */
kiln_status kiln_script_aten(kiln_script_cx *cx, kiln_str name,
                             const kiln_script_args *args, kiln_script_value *out);
/* Its value now; fails where it is stale. */
kiln_status kiln_script_read_tensor(kiln_script_cx *cx, kiln_script_tensor *t,
                                    kiln_value **out);
/* One operator's nodes. */
const void *kiln_script_site_of(kiln_script_cx *cx, kiln_str op);
kiln_status kiln_script_run_op(kiln_script_cx *cx, const kiln_aten_call *call,
                               kiln_aten_value out[KILN_ATEN_MAX_OUT], size_t *n);
/* script_view.c: `v` is a view of `base`, number `at` of those that the call gives. */
kiln_script_value kiln_script_mark_view(kiln_script_tensor *base,
                                        const kiln_aten_call *call, size_t at,
                                        kiln_script_value v);
/* Is it a view or a copy, as the tensor lies in memory? */
bool kiln_script_is_unsure(kiln_str op);
bool kiln_script_is_one_of(kiln_str op, const char *const *list, size_t n);
/* t is written: it has a new value, and so has what it is a view of. */
kiln_status kiln_script_write_tensor(kiln_script_cx *cx, kiln_script_tensor *t,
                                     kiln_value *v);
/* The only element of a constant. */
kiln_status kiln_script_number(kiln_script_cx *cx, kiln_script_tensor *t,
                               const char *what, kiln_script_value *out);
/* script_unread.c: KILN_ERR_UNSUPPORTED with every operator that is not read of the
 * code that `forward` reaches; `name` is one. */
kiln_status kiln_script_refuse_unread(kiln_script_cx *cx, kiln_str name);
bool kiln_script_is_builtin(kiln_str name);
/* Of any name of an operator: a builtin, a row of aten.def, or a function of the file. */
bool kiln_script_is_read(kiln_script_cx *cx, kiln_str name);
/* The operator without what stands before it: "relu", "torchvision::nms". */
kiln_str kiln_script_bare_name(kiln_script_cx *cx, kiln_str name);

/* The operators of that code, and the tensors: script_unread.c too. */
void kiln_script_survey_code(kiln_script_cx *cx, kiln_arena *a, kiln_model_survey *out);

/* ---- inputs and outputs: script_inputs.c ------------------------------------------- */

/* forward's parameters as declared inputs, and as arguments for a call of it. */
kiln_status kiln_script_declared(kiln_script_cx *cx, const kiln_script_function *fn,
                                 kiln_declared_input **out, size_t *n);
kiln_status kiln_script_bind(kiln_script_cx *cx, const kiln_script_function *fn,
                             kiln_script_args *out);
/* An operator needs that element type: where the value leads to an input whose type
 * nobody said, the run must begin again, and this fails. */
kiln_status kiln_script_need_dtype(kiln_script_cx *cx, kiln_value *v, kiln_dtype dtype);
kiln_status kiln_script_add_outputs(kiln_script_cx *cx, const kiln_script_value *v);

#endif
