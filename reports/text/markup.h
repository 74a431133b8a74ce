/* Texts in HTML and XML. Inside reports. */
#ifndef KILN_REPORTS_MARKUP_H
#define KILN_REPORTS_MARKUP_H

#include "base/base.h"

/* What stands for a byte below 0x80 in both, in texts as in attributes; NULL: itself.
 * Control characters have no place there, however they are written: they show as
 * replacement characters. */
const char *kiln_markup_escape(unsigned char c);
/* The text, each character as escape_of has it; what is no UTF-8 shows as replacement
 * characters. */
void kiln_markup_put(kiln_buf *out, const char *text,
                     const char *(*escape_of)(unsigned char c));

#endif
