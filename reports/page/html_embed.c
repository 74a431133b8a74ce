/* What the build embeds of the page, and how the page's policy lets its script run: by
 * its hash (Content Security Policy Level 3, 2.3.1). Nothing of the results is in the
 * script, so that no name can become one. */
#include "reports/page/html_page.h"

#include <string.h>

void kiln_page_embed(kiln_page *p, const char *const *line) {
    for (; *line != NULL; line++)
        kiln_page_put(p, *line);
}

/* RFC 4648, 4: of the hexadecimal digits of whole bytes. */
static void put_base64(kiln_page *p, const char *hex) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char hex_digits[] = "0123456789abcdef";
    unsigned bits = 0, n_bits = 0, n = 0;
    for (; *hex != '\0'; hex++) {
        bits = bits << 4 | (unsigned)(strchr(hex_digits, *hex) - hex_digits);
        n_bits += 4;
        if (n_bits >= 6) {
            n_bits -= 6;
            kiln_page_putf(p, "%c", digits[bits >> n_bits & 63]);
            n++;
        }
    }
    if (n_bits > 0) {
        kiln_page_putf(p, "%c", digits[bits << (6 - n_bits) & 63]);
        n++;
    }
    for (; n % 4 != 0; n++)
        kiln_page_put(p, "=");
}

void kiln_page_script_hash(kiln_page *p) {
    kiln_sha256 h;
    char hex[KILN_SHA256_HEX];
    kiln_sha256_init(&h);
    for (size_t i = 0; kiln_reports_page_page_js[i] != NULL; i++)
        kiln_sha256_add(&h, kiln_reports_page_page_js[i],
                        strlen(kiln_reports_page_page_js[i]));
    kiln_sha256_hex(&h, hex);
    put_base64(p, hex);
}
