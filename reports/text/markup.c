/* See markup.h. Source: XML 1.0, 2.2 and 2.4; HTML, 13.2.3.5 and 13.3. */
#include "reports/text/markup.h"

#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

const char *kiln_markup_escape(unsigned char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return c < 0x20 || c == 0x7F ? replacement : NULL;
    }
}

void kiln_markup_put(kiln_buf *out, const char *text,
                     const char *(*escape_of)(unsigned char c)) {
    const char *from = text, *at = text;
    while (*at != '\0') {
        const size_t len = kiln_utf8_len((kiln_str){at, strnlen(at, 4)});
        const char *escape = len == 0 ? replacement : escape_of((unsigned char)*at);
        if (escape == NULL) {
            at += len;
            continue;
        }
        kiln_buf_add(out, from, (size_t)(at - from));
        kiln_buf_puts(out, escape);
        from = ++at;
    }
    kiln_buf_add(out, from, (size_t)(at - from));
}
