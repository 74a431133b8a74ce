/* Checksums of what TensorFlow saves. */
#ifndef KILN_COMPILER_FRONTEND_TENSORFLOW_CRC32C_H
#define KILN_COMPILER_FRONTEND_TENSORFLOW_CRC32C_H

#include "base/base.h"

uint32_t kiln_tf_crc32c(kiln_str bytes);
/* As it is stored: turned and moved, so that a checksum of checksums stays one. */
uint32_t kiln_tf_crc_mask(uint32_t crc);

#endif
