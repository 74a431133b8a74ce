/* cuDNN and cuBLAS, by their C interface in kiln-cudnn (library/library_cudnn.c says how they are
 * asked). They are looked for in the folder that KILN_CUDNN names, then among the wheels
 * of kiln's environment, then among those of the Python that KILN_PYTHON names, then where
 * the loader looks. What is named and cannot be used is an error; elsewhere it is absent. */
#include "pipeline/baselines/baselines_internal.h"

#include <stdlib.h>

#define PROGRAM "kiln-cudnn"

enum { ASK_MS = 60000, MOST_PLACES = 4 };

static const char *const wheels[] = {"nvidia-cublas", "nvidia-cuda-nvrtc",
                                     "nvidia-cudnn-cu13", NULL};

typedef struct places {
    const char *at[MOST_PLACES];
    int n;
    bool is_named; /* the first, by the user: nothing else counts */
} places;

static const char *named(const char *variable) {
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The folder `nvidia` of a Python's packages; NULL: it has none, or does not say. */
static const char *ask_python(kiln_arena *a, const char *python) {
    const char *const argv[] = {python, "-I", "-c",
                                "import nvidia; print(list(nvidia.__path__)[0])", NULL};
    const kiln_process_options o = {.argv = argv, .time_limit_ms = ASK_MS};
    kiln_process_result r;
    if (kiln_process_run(a, &o, &r, NULL) != KILN_OK || r.end != KILN_PROCESS_EXITED ||
        r.code != 0)
        return NULL;
    const char *path = kiln_str_dupv(a, kiln_str_trim(r.out));
    return path[0] == '/' ? path : NULL;
}

static void add_python(kiln_arena *a, const char *python, places *p) {
    const char *found = kiln_file_exists(python) ? ask_python(a, python) : NULL;
    if (found != NULL)
        p->at[p->n++] = found;
}

static places look(kiln_arena *a, const char *dir) {
    places p = {.is_named = named("KILN_CUDNN") != NULL};
    if (p.is_named) {
        p.at[p.n++] = kiln_str_dup(a, named("KILN_CUDNN"));
        return p;
    }
    if (dir != NULL && dir[0] != '\0')
        add_python(a, kiln_path_join(a, dir, "bin/python"), &p);
    if (named("KILN_PYTHON") != NULL)
        add_python(a, kiln_baselines_python(a, dir != NULL ? dir : ""), &p);
    p.at[p.n++] = "";
    return p;
}

static const char *remedy(kiln_arena *a, const kiln_err *why) {
    return kiln_format(a,
                       "%s; 'kiln baselines install --only cudnn' gets the libraries, "
                       "KILN_CUDNN names a folder that has them",
                       why->status != KILN_OK ? why->text : "cuDNN is not here");
}

/* The first place that will do; which is in *use where it is here. */
static kiln_status choose(const kiln_baseline *b, kiln_arena *a, const char *dir,
                          kiln_program_use *use, kiln_baseline_here *out,
                          kiln_err *err) {
    const places p = look(a, dir);
    kiln_err first = {.status = KILN_OK};
    char *program;
    KILN_TRY(kiln_program_find(a, PROGRAM, &program, err));
    for (int i = 0; i < p.n; i++) {
        kiln_err why = {.status = KILN_OK};
        *use = (kiln_program_use){.program = PROGRAM, .library = p.at[i]};
        if (kiln_program_use_version(a, b, use, out, &why) == KILN_OK)
            return KILN_OK;
        if (first.status == KILN_OK)
            first = why;
    }
    if (p.is_named) {
        *err = first;
        kiln_note(err, "looking for cuDNN in '%s' (KILN_CUDNN)", p.at[0]);
        return err->status;
    }
    *out = (kiln_baseline_here){.remedy = remedy(a, &first)};
    return KILN_OK;
}

static kiln_status find(const kiln_baseline *b, kiln_arena *a, const char *dir,
                        kiln_baseline_here *out, kiln_err *err) {
    kiln_program_use use;
    return choose(b, a, dir, &use, out, err);
}

static kiln_status open_op(const kiln_baseline *b, kiln_arena *a,
                           const kiln_baseline_op_job *job, kiln_baseline_session *out,
                           kiln_err *err) {
    kiln_program_use use;
    kiln_baseline_here here = {.is_here = false};
    KILN_TRY(choose(b, a, job->dir, &use, &here, err));
    if (!here.is_here)
        return kiln_fail(err, KILN_ERR_LIB, "%s", here.remedy);
    return kiln_program_use_open(a, b, &use, job, out, err);
}

const kiln_baseline kiln_baseline_cudnn = {
    .name = "cudnn",
    .doc = "cuDNN and cuBLAS on an NVIDIA GPU, single operators, without TF32",
    .wheel = wheels,
    .is_by_name = true,
    .find = find,
    .open_op = open_op,
    .run = kiln_asked_run,
};
