/* The last cache that one CPU reads through, as Linux has it (Documentation/ABI/testing/
 * sysfs-devices-system-cpu). A profile says the largest that the C library knows of, on
 * some machines all of a package's together, of which a core has but a part: 384 MiB
 * where a core reads through 32. KILN_SYSFS names another folder in the place of /sys. */
#include "pipeline/measure/runner/heat.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_CACHES = 16, PATH_BYTES = 192, TEXT_BYTES = 32 };

/* "2", "32768K", "32M"; 0: there is no such number. */
static uint64_t number_in(const char *root, int32_t cpu, int index, const char *name) {
    char path[PATH_BYTES], text[TEXT_BYTES] = "", *unit = text;
    (void)snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/cache/index%d/%s",
                   root, (int)cpu, index, name);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    const bool has = fgets(text, sizeof text, f) != NULL;
    (void)fclose(f);
    const uint64_t n = has ? strtoull(text, &unit, 10) : 0;
    if (n == 0 || n > UINT32_MAX)
        return 0;
    return *unit == 'K' ? n << 10 : *unit == 'M' ? n << 20 : n;
}

uint64_t kiln_last_cache_bytes(int32_t cpu) {
    const char *named = getenv("KILN_SYSFS");
    const char *root = named != NULL && named[0] != '\0' ? named : "/sys";
    uint64_t highest = 0, out = 0;
    for (int i = 0; i < MOST_CACHES; i++) {
        const uint64_t level = number_in(root, cpu > 0 ? cpu : 0, i, "level");
        const uint64_t size = number_in(root, cpu > 0 ? cpu : 0, i, "size");
        if (level == 0)
            break;
        if (level > highest && size > 0) {
            highest = level;
            out = size;
        }
    }
    return out;
}
