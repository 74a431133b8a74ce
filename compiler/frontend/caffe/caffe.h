/* Caffe nets: a description of layers in protobuf's text format and a file of weights. */
#ifndef KILN_COMPILER_FRONTEND_CAFFE_CAFFE_H
#define KILN_COMPILER_FRONTEND_CAFFE_CAFFE_H

#include "compiler/frontend/frontend.h"

/* kiln_import of a model whose two files are in memory; the weights must outlive `a`.
 * `name` is the description's, for messages. */
kiln_status kiln_import_caffe_bytes(kiln_arena *a, kiln_str text, kiln_str weights,
                                    const char *name, const kiln_import_options *o,
                                    kiln_graph **out, kiln_import_report *report,
                                    kiln_err *err);

#endif
