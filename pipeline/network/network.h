/* pipeline/network: an executable graph (compiler/network/executable.h) becomes kernels,
 * packed parameters and a plan for the runtime; what a run of it did, wherever that was,
 * is proved (network_prove.h). */
#ifndef KILN_PIPELINE_NETWORK_H
#define KILN_PIPELINE_NETWORK_H

#include "compiler/network/executable.h"
#include "compiler/network/network_place.h"
#include "pipeline/kernels/kernels_pack.h"
#include "runtime/loader.h"
#include "runtime/pool.h"
#include "runtime/kiln.h"
#include "runtime/plan.h"

/* One step of the plan, for people and tools. */
typedef struct kiln_network_step {
    const char *name, *op;   /* as in the plan */
    int kernel;              /* -1: a copy, or a step that chooses, repeats, waits */
    const char *device;      /* who does it: a kind */
    const char *const *node; /* the graph's nodes that it computes, by name; none:
                                conversions, copies and choices. Names in regions follow
                                those of the nodes around: "If_0.then_branch/conv_1" */
    int n_nodes;
    const char *epilogue; /* "bias, add, relu": kiln_group_epilogue; "": none */
    /* As kiln_layout_name has them: of the first value read that is no parameter, and
     * of the first one written; NULL: there is none. */
    const char *layout_in, *layout_out;
    /* Types of all that it reads and writes, parameters too, as they lie
     * (kiln_type_text). */
    const char *const *in, *const *out;
    int n_in, n_out;
} kiln_network_step;

/* A constant: the type's layout is as the kernels read it, or row-major where those
 * read what open steps make of it. */
typedef struct kiln_network_param {
    const char *name; /* the graph's value */
    kiln_type type;
    uint64_t offset; /* into params: a multiple of KILN_PLAN_ALIGN */
} kiln_network_param;

/* Code of one device: a file of the package. */
typedef struct kiln_network_module {
    const char *device;          /* its kind: "host" */
    const kiln_profile *profile; /* that its code is made for */
    const char *file;            /* "lib.so" */
    bool *is_called;             /* by kernel: does the device call it? */
    kiln_str
        code; /* a GPU's: the whole file (runtime/gpu_module.h). A CPU's is linked by
                      who packs it */
} kiln_network_module;

typedef struct kiln_network {
    const char *name;
    const kiln_profile *profile;
    const kiln_net *net; /* what it is written from; for kiln_prover */
    KILN_VEC(kiln_network_kernel) kernel;
    KILN_VEC(kiln_network_module) module; /* the host's, then those of other devices */
    KILN_VEC(kiln_network_step) step;
    KILN_VEC(kiln_network_step)
    open;                               /* "pack conv1.weight", op "pack": a call; op
                                         "copy": to another device */
    KILN_VEC(kiln_network_param) param; /* in order of offset, all there is */
    kiln_str plan;                      /* plan.bin */
    void *params;                       /* 64-byte aligned */
    size_t param_bytes;
    int n_steps, n_conversions, n_views, n_in_place;
    int64_t arena_bytes, lower_bound; /* of activations, on all devices */
    int64_t workspace_bytes;          /* the most that a kernel wants */
    int64_t scratch_bytes;            /* of each thread */
    int64_t packed_bytes; /* of a model that is open: what open steps fill */
} kiln_network;

/* `g`, which has been through the passes, as p's network is compiled from it: a GPU has no
 * loop over the steps of a recurrent cell, they become products and element-wise
 * operators. A copy in `a`, or g itself. */
kiln_status kiln_network_graph_for(kiln_arena *a, const kiln_graph *g,
                                   const kiln_profile *p, const kiln_graph **out,
                                   kiln_err *err);

/* `g` has been through the passes. Failures name the group's first node. */
kiln_status kiln_network_compile(kiln_arena *a, const kiln_graph *g,
                                 const kiln_profile *p, const kiln_network_options *o,
                                 kiln_network *out, kiln_err *err);
/* The same for who compiles many: `packer` packs the constants, in one process for all. */
kiln_status kiln_network_compile_by(kiln_arena *a, const kiln_graph *g,
                                    const kiln_profile *p,
                                    const kiln_network_options *o, kiln_packer *packer,
                                    kiln_network *out, kiln_err *err);
/* The same network on other devices, of one that the host does alone: with the same
 * kernels and parameters. `out` lives in `a` and borrows `n`. KILN_ERR_ARG: devices
 * that there cannot be. */
kiln_status kiln_network_place(kiln_arena *a, const kiln_network *n,
                               const kiln_placement *o, kiln_network *out,
                               kiln_err *err);

#endif
