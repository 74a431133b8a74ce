/* The jobs that are ready to copy (ci/): each installs what is missing and runs the
 * night, and what is uploaded is of the run just at work, stopped or not. `latest` is
 * the last run that ended: after an interruption it is yesterday's. */
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct row {
    const char *name, *file;
    const char *has[6]; /* in this order */
} row;

static row rows[] = {
    {"github_actions",
     "ci/github-actions.yml",
     {"make deps && make V=release all", "kiln baselines install",
      "kiln nightly ci/nightly.json", "if: always()", "results.json --annotations",
      "out/nights/current/**/log.txt"}},
    {"gitlab",
     "ci/gitlab-ci.yml",
     {"make deps", "make V=release all", "kiln baselines install",
      "kiln nightly ci/nightly.json", "cp -rL out/nights/current", "when: always"}},
    {"jenkins",
     "ci/Jenkinsfile",
     {"make deps && make V=release all", "kiln baselines install",
      "kiln nightly ci/nightly.json", "always {",
      "junit testResults: 'out/nights/current", "out/nights/current/**/log.txt"}},
    {"cron", "ci/crontab", {"kiln nightly ci/nightly.json"}},
    {"systemd",
     "ci/kiln-nightly.service",
     {"kiln nightly ci/nightly.json", "SuccessExitStatus=7"}},
};

static void is_whole(void **state) {
    const row *r = *state;
    enum { LIMIT = 1 << 20 };
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_str text;
    kiln_assert_status_ok(kiln_file_map(a, r->file, LIMIT, &text, &err), &err);
    const char *all = kiln_str_dupv(a, text), *at = all;
    for (size_t i = 0; i < sizeof r->has / sizeof r->has[0] && r->has[i] != NULL; i++) {
        const char *found = strstr(at, r->has[i]);
        if (found == NULL)
            fail_msg("%s: no '%s' behind what comes first", r->file, r->has[i]);
        else
            at = found;
    }
    if (strstr(all, "nights/latest") != NULL)
        fail_msg("%s uploads the last run that ended, not the one just at work",
                 r->file);
}

int main(void) {
    kiln_test_add_rows(is_whole, rows);
    return kiln_test_run("workflows");
}
