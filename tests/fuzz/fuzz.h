/* What every fuzz target defines: reads one input, returns 0 whatever it is.
 *
 * The name and the types are libFuzzer's. `data` is not terminated and lies in memory
 * of exactly `size` bytes, so that a read past its end is seen by AddressSanitizer.
 */
#ifndef KILN_TESTS_FUZZ_FUZZ_H
#define KILN_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
