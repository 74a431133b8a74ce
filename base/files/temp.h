/* Temporary files beside what they become: base's own, for file.c. */
#ifndef KILN_BASE_TEMP_H
#define KILN_BASE_TEMP_H

#include <stddef.h>

enum { KILN_TEMP_NAME_BYTES = 80 }; /* of a name, its end too */

/* Makes a file in `folder` (which ends in a slash, or is empty) that is ours as long as
 * the descriptor is open, and writes its path. Files there of processes that have ended
 * go. -1: errno says why. */
int kiln_temp_file_open(const char *folder, char *path, size_t room);

#endif
