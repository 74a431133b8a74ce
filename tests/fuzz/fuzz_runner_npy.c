/* Any bytes as the beginning of a .npy file for kiln-run: refused with a reason, or a
 * header whose data begins inside the file. The runner is no part of the archive. */
#include "pipeline/devices/runner/npy_header.c" /* NOLINT(bugprone-suspicious-include) */

#include "base/base.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    npy_header h;
    const char *why = NULL;
    if (npy_parse(data, size, &h, &why) == 0) {
        KILN_ASSERT(h.data <= size, "the data begins behind the file");
        KILN_ASSERT(h.rank >= 0 && h.rank <= KILN_PORT_MAX_RANK, "rank %d", h.rank);
        for (int i = 0; i < h.rank; i++)
            KILN_ASSERT(h.dim[i] >= 0, "axis %d is negative", i);
    } else {
        KILN_ASSERT(why != NULL, "a refusal has a reason");
    }
    return 0;
}
