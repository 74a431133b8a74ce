/* Inside the PyTorch frontend: what is no model. */
#ifndef KILN_COMPILER_FRONTEND_PYTORCH_PYTORCH_INTERNAL_H
#define KILN_COMPILER_FRONTEND_PYTORCH_PYTORCH_INTERNAL_H

#include "compiler/frontend/frontend_internal.h"

/* What torch.save wrote until 1.6, and writes where it is told to: no archive. */
bool kiln_saved_is_old(kiln_str bytes);
/* KILN_ERR_UNSUPPORTED for what torch.save writes, with what it holds. */
kiln_status kiln_saved_refuse(kiln_str bytes, kiln_err *err);

#endif
