/* An unpacked package in a folder, as runtime/ opens it, without the archive around it.
 */
#ifndef KILN_TESTS_SUPPORT_PACKAGE_PACKAGE_FOLDER_H
#define KILN_TESTS_SUPPORT_PACKAGE_PACKAGE_FOLDER_H

#include "pipeline/network/network.h"

/* Writes plan.bin, params.safetensors and lib.so into the folder, which must exist. The
 * test fails where that does not succeed. */
void package_folder_write(const char *dir, const kiln_network *n);

/* Puts other instructions where the package's first kernel begins. */
typedef enum package_fault {
    PACKAGE_CRASHES,   /* an instruction that does not exist */
    PACKAGE_HANGS,     /* jumps to itself */
    PACKAGE_RETURNS_3, /* the kernel fails */
    PACKAGE_CALLS      /* asks the system for the parent's number, and is done */
} package_fault;
void package_folder_break(const char *dir, kiln_arch arch, package_fault fault);

#endif
