/* SHA-256 (FIPS 180-4) for workers, which link no library: they hold what comes over
 * the wire to its name. Everybody else takes base/core/hash.h, which is faster. */
#ifndef KILN_PIPELINE_MEASURE_WIRE_DIGEST_H
#define KILN_PIPELINE_MEASURE_WIRE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef struct kiln_wire_digest {
    uint32_t state[8];
    uint64_t bytes; /* so far */
    unsigned char block[64];
} kiln_wire_digest;

void kiln_wire_digest_init(kiln_wire_digest *d);
void kiln_wire_digest_add(kiln_wire_digest *d, const void *p, size_t bytes);
/* The 32 bytes; *d is used up. */
void kiln_wire_digest_end(kiln_wire_digest *d, unsigned char sha256[32]);

#endif
