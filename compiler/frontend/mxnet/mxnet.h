/* MXNet models: a symbol in JSON and a file of parameters. */
#ifndef KILN_COMPILER_FRONTEND_MXNET_MXNET_H
#define KILN_COMPILER_FRONTEND_MXNET_MXNET_H

#include "compiler/frontend/frontend.h"

/* kiln_import of a model whose two files are in memory; the parameters must outlive `a`.
 * `name` is the symbol's, for messages. */
kiln_status kiln_import_mxnet_bytes(kiln_arena *a, kiln_str symbol, kiln_str params,
                                    const char *name, const kiln_import_options *o,
                                    kiln_graph **out, kiln_import_report *report,
                                    kiln_err *err);

#endif
