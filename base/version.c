/* What the Makefile says of this build (mk/build.mk). */
#include "base/version.h"

#include "base/core/core.h"

#include <string.h>

/* Without the Makefile, as when a checker reads this file alone: nothing is known. */
#ifndef KILN_COMMIT
#define KILN_COMMIT ""
#endif
#ifndef KILN_VARIANT
#define KILN_VARIANT "unknown"
#endif

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

kiln_version_info kiln_own_version(void) {
    static const char commit[] = KILN_COMMIT;
    return (kiln_version_info){.commit = sizeof commit > 1 ? commit : NULL,
                               .compiler = COMPILER,
                               .variant = KILN_VARIANT};
}

const char *kiln_own_build(kiln_arena *a) {
    const kiln_version_info b = kiln_own_version();
    return kiln_format(a, "%s, %s", b.compiler, b.variant);
}

bool kiln_is_commit(const char *text) {
    enum { DIGITS = 40 };
    return strspn(text, "0123456789abcdef") == DIGITS &&
           (text[DIGITS] == '\0' || strcmp(text + DIGITS, "-modified") == 0);
}
