/* base/text: text forms: JSON, records of tables, words with places. */
#ifndef KILN_BASE_TEXT_H
#define KILN_BASE_TEXT_H

#include "base/text/json.h"
#include "base/text/lexer.h"
#include "base/text/record.h"

#endif
