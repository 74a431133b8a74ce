/* base/files: files, folders, and where programs lie. */
#ifndef KILN_BASE_FILES_H
#define KILN_BASE_FILES_H

#include "base/files/file.h"
#include "base/files/program.h"

#endif
