#include "tests/support/program/browser.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *kiln_test_browser(void) {
    static const char *const names[] = {"chromium-headless-shell", "chromium",
                                        "chromium-browser", "google-chrome"};
    const char *path = getenv("PATH");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        kiln_str rest = kiln_str_from(path), dir;
        while (kiln_str_cut(&rest, ':', &dir)) {
            const char *file =
                kiln_format(kiln_test_arena(), "%.*s/%s", KILN_STR_ARG(dir), names[i]);
            if (dir.n > 0 && access(file, X_OK) == 0)
                return file;
        }
    }
    kiln_test_skip("no Chromium on the PATH (Debian: chromium-headless-shell)");
    return NULL;
}

kiln_process_result kiln_test_browse(const char *page, const char *action,
                                     kiln_test_window w) {
    kiln_arena *a = kiln_test_arena();
    const char *argv[] = {kiln_test_browser(), "--headless", "--no-sandbox",
                          "--disable-gpu", "--disable-dev-shm-usage",
                          "--hide-scrollbars", "--enable-logging=stderr",
                          /* Timers that are under way end before it does. */
                          "--virtual-time-budget=30000",
                          kiln_format(a, "--user-data-dir=%s", kiln_test_dir()),
                          kiln_format(a, "--window-size=%d,%d", w.width, w.height),
                          w.is_dark ? "--blink-settings=preferredColorScheme=0"
                                    : "--blink-settings=preferredColorScheme=1",
                          action, kiln_format(a, "file://%s", page), NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS,
                                    .output_limit_bytes = 16 << 20};
    kiln_process_result result;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_process_run(a, &o, &result, &err), &err);
    if (result.end != KILN_PROCESS_EXITED || result.code != 0)
        fail_msg("the browser ended with %d: %s", result.code, result.err.p);
    return result;
}

/* ---- probes ---------------------------------------------------------------------- */

/* What the script found, from the dumped document. */
static const kiln_json *found_in(const char *dom) {
    static const char name[] = "data-found=\"";
    kiln_buf json;
    kiln_buf_init(&json, kiln_test_arena());
    const char *at = strstr(dom, name);
    if (at == NULL)
        fail_msg("the page's probe did not end: %.500s", dom);
    for (at += strlen(name); *at != '"' && *at != '\0'; at++) {
        static const struct {
            const char *name, *text;
        } entity[] = {{"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};
        const char *text = NULL;
        size_t n = 1;
        for (size_t i = 0; i < sizeof entity / sizeof entity[0]; i++)
            if (strncmp(at, entity[i].name, strlen(entity[i].name)) == 0) {
                text = entity[i].text;
                n = strlen(entity[i].name);
            }
        kiln_buf_add(&json, text != NULL ? text : at, 1);
        at += n - 1;
    }
    const kiln_json *v = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_buf_str(&json), "found", &v, &err),
        &err);
    return v;
}

/* Up to a mark, which `at` is set behind. */
static kiln_str part_to(const char **at, const char *mark, const char *behind) {
    const char *from = *at, *to = strstr(from, mark);
    assert_non_null(to);
    *at = strstr(to, behind);
    assert_non_null(*at);
    *at += strlen(behind);
    return (kiln_str){from, (size_t)(to - from)};
}

static void add(kiln_buf *out, kiln_str s) { kiln_buf_add(out, s.p, s.n); }

const kiln_json *kiln_test_probe_page(const char *page, const kiln_test_probe *probe,
                                      kiln_test_window w) {
    static const char done[] =
        "<script>const done=v=>document.documentElement.setAttribute('data-found',"
        "JSON.stringify(v));const all=(what,of=document)=>[...of.querySelectorAll("
        "what)]</script><script>";
    kiln_arena *a = kiln_test_arena();
    kiln_str text;
    kiln_err err = {0};
    kiln_buf out;
    kiln_assert_status_ok(kiln_file_map(a, page, 0, &text, &err), &err);
    const char *at = kiln_str_dupv(a, text);
    kiln_buf_init(&out, a);
    add(&out, part_to(&at, "<meta http-equiv=\"Content-Security-Policy\"", ">"));
    if (probe->is_print) {
        add(&out, part_to(&at, "@media print", "@media print"));
        kiln_buf_puts(&out, "@media all");
    }
    if (probe->is_page_without_script)
        add(&out, part_to(&at, "<script>", "</script>"));
    add(&out, part_to(&at, "</body>", "</body>"));
    kiln_buf_puts(&out, done);
    if (probe->before != NULL) {
        kiln_buf_puts(&out, probe->before);
        kiln_buf_puts(&out, "</script><script>");
    }
    kiln_buf_puts(&out, "addEventListener('load',async()=>{");
    kiln_buf_puts(&out, probe->script);
    kiln_buf_puts(&out, "})</script></body>");
    kiln_buf_puts(&out, at);
    const char *copy = kiln_format(a, "%s.probed.html", page);
    kiln_assert_status_ok(kiln_file_write(copy, out.p, out.n, &err), &err);
    const kiln_process_result r = kiln_test_browse(copy, "--dump-dom", w);
    if (strstr(r.err.p, "CONSOLE") != NULL)
        fail_msg("the probe complains: %.500s", strstr(r.err.p, "CONSOLE"));
    return found_in(r.out.p);
}
