/* Texts that are changed, and members of documents: see kiln_test.h. */
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>

const char *kiln_test_replaced(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    if (at == NULL)
        fail_msg("'%s' is not in\n%s", from, text);
    return kiln_format(kiln_test_arena(), "%.*s%s%s", (int)(at - text), text, to,
                       at + strlen(from));
}

const kiln_json *kiln_test_json_at(const kiln_json *v, const char *path) {
    while (*path != '\0' && v != NULL) {
        if (*path == '[') {
            v = kiln_json_at(v, (size_t)strtoul(path + 1, NULL, 10));
            path += strcspn(path, "]") + 1;
            continue;
        }
        path += *path == '.';
        const size_t n = strcspn(path, ".[");
        v = kiln_json_get(v, kiln_str_dupv(kiln_test_arena(), (kiln_str){path, n}));
        path += n;
    }
    return v;
}
