/* CSV, RFC 4180: cells, and lists of structs by the tables that describe them. Inside
 * reports. */
#ifndef KILN_REPORTS_CSV_H
#define KILN_REPORTS_CSV_H

#include "base/base.h"

#define KILN_CSV_END "\r\n"

/* NULL: nothing. What a spreadsheet would take for a formula gets an apostrophe. */
void kiln_csv_text(kiln_buf *out, const char *text);
/* The shortest text that reads back as the same double; nothing for what is no number. */
void kiln_csv_f64(kiln_buf *out, double v);

/* A column for each member of the table, a member's name behind that of the object that
 * it is in ("ms_low"). `first` begins the line: other columns, with a comma behind each.
 * Members are texts, numbers and objects of these: KILN_ASSERT. */
void kiln_csv_head(kiln_buf *out, const char *first, const kiln_record_table *t);
void kiln_csv_line(kiln_buf *out, const kiln_record_table *t, const void *from);

#endif
