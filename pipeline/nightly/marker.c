/* How a stage ended, as a small file beside what it wrote: it appears whole, and last,
 * so where it is the stage is finished. */
#include "pipeline/nightly/nightly_internal.h"

#include <string.h>
#include <time.h>

static const char schema[] = "kiln-stage-1";
static const char file_name[] = "done.json";

static void print(kiln_buf *out, const nightly_marker *m) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "schema", schema);
    kiln_json_member_str(&w, "inputs", m->inputs);
    kiln_json_member_str(&w, "state", kiln_stage_state_name(m->state));
    kiln_json_member_i64(&w, "exit_code", m->exit_code);
    kiln_json_member_f64(&w, "seconds", m->seconds);
    kiln_json_member_str(&w, "ended", m->ended);
    kiln_json_member_str(&w, "message", m->message);
    kiln_json_member_str(&w, "command", m->command);
    kiln_json_member_str(&w, "product", m->product);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}

void kiln_nightly_marker_hash(const nightly_marker *m, char hex[KILN_SHA256_HEX]) {
    kiln_arena scratch = {0};
    kiln_buf text;
    kiln_buf_init(&text, &scratch);
    print(&text, m);
    kiln_sha256_of(text.p, text.n, hex);
    kiln_arena_fini(&scratch);
}

static const char *now(kiln_arena *a) {
    struct timespec t = {0};
    struct tm utc;
    char date[64] = "";
    if (clock_gettime(CLOCK_REALTIME, &t) == 0 && gmtime_r(&t.tv_sec, &utc) != NULL)
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    return kiln_format(a, "%s.%09ldZ", date, t.tv_nsec);
}

kiln_status kiln_nightly_marker_write(kiln_arena *a, const char *folder,
                                      nightly_marker *m, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_buf text;
    m->ended = now(a);
    kiln_buf_init(&text, &scratch);
    print(&text, m);
    const kiln_status st = kiln_file_write(kiln_path_join(&scratch, folder, file_name),
                                           text.p, text.n, err);
    kiln_arena_fini(&scratch);
    return st;
}

static bool state_of(const char *name, kiln_stage_state *out) {
    for (int s = KILN_STAGE_DONE; s <= KILN_STAGE_SKIPPED; s++)
        if (strcmp(name, kiln_stage_state_name((kiln_stage_state)s)) == 0) {
            *out = (kiln_stage_state)s;
            return true;
        }
    return false;
}

/* A file that somebody else wrote is as good as none. */
bool kiln_nightly_marker_read(kiln_arena *a, const char *folder, nightly_marker *out) {
    const char *path = kiln_path_join(a, folder, file_name);
    const kiln_json *root = NULL;
    if (!kiln_file_exists(path) || kiln_json_read(a, path, &root, NULL) != KILN_OK)
        return false;
    const char *state = kiln_json_string(kiln_json_get(root, "state"), "");
    int64_t code = 0;
    nightly_marker m = {
        .inputs = kiln_json_string(kiln_json_get(root, "inputs"), NULL),
        .seconds = kiln_json_number(kiln_json_get(root, "seconds"), 0),
        .ended = kiln_json_string(kiln_json_get(root, "ended"), NULL),
        .message = kiln_json_string(kiln_json_get(root, "message"), NULL),
        .command = kiln_json_string(kiln_json_get(root, "command"), NULL),
        .product = kiln_json_string(kiln_json_get(root, "product"), NULL),
    };
    if (!state_of(state, &m.state) || m.inputs == NULL || m.ended == NULL ||
        m.command == NULL ||
        strcmp(kiln_json_string(kiln_json_get(root, "schema"), ""), schema) != 0 ||
        !kiln_json_i64(kiln_json_get(root, "exit_code"), &code) || code < 0 ||
        code > 255)
        return false;
    m.exit_code = (int)code;
    *out = m;
    return true;
}
