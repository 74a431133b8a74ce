/* Pages in a browser without a window: what it logs, draws, prints, and what a script
 * of the test's finds out in it. */
#ifndef KILN_TESTS_SUPPORT_BROWSER_H
#define KILN_TESTS_SUPPORT_BROWSER_H

#include "tests/support/kiln_test.h"

typedef struct kiln_test_window {
    int width, height;
    bool is_dark;
} kiln_test_window;

/* Chromium, from the PATH; the test is skipped where there is none. */
const char *kiln_test_browser(void);
/* `action` is an option: "--dump-dom". What pages log goes to stderr. */
kiln_process_result kiln_test_browse(const char *page, const char *action,
                                     kiln_test_window w);

/* Runs a script in a copy of the page, beside it, and returns what it hands to
 * `done(object)`. The copy has no policy, which would forbid the script; `before` (may
 * be NULL) runs too, ahead of it. */
typedef struct kiln_test_probe {
    const char *before, *script;
    bool is_page_without_script; /* the page's own is taken out */
    bool is_print;               /* what the style says of print holds on screen */
} kiln_test_probe;
const kiln_json *kiln_test_probe_page(const char *page, const kiln_test_probe *probe,
                                      kiln_test_window w);

#endif
