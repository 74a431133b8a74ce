/* Files beside a model, which hold its weights. They may have come with it in one archive,
 * and so may links. */
#ifndef KILN_COMPILER_FRONTEND_FRONTEND_BESIDE_H
#define KILN_COMPILER_FRONTEND_FRONTEND_BESIDE_H

#include "base/base.h"

/* KILN_ERR_PARSE where `path`, below `dir`, is a link to what lies neither there nor
 * where `model` (may be NULL; it may be a link itself) really lies. A file that is not
 * there passes: whoever opens it says so. */
kiln_status kiln_import_check_link(kiln_arena *scratch, const char *path,
                                   const char *dir, const char *model, kiln_err *err);

#endif
