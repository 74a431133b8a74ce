/* Who has what, as a pool tells it: asked, and written for people. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pipeline/measure/wire/address.h"
#include "pipeline/measure/wire/wire.h"
#include "pipeline/pool/pool.h"

enum { ANSWER_MS = 10000 };

/* ---- asking -------------------------------------------------------------------------- */

static kiln_status hear(int fd, kiln_wire_stream *in, kiln_arena *a,
                        kiln_wire_kind kind, void *message, kiln_err *err) {
    kiln_wire_frame f;
    kiln_wire_failed failed;
    bool has;
    KILN_TRY(kiln_wire_read(fd, in, ANSWER_MS, &has, &f, err));
    if (!has)
        return kiln_fail(err, KILN_ERR_IO, "it hung up");
    if (f.kind == KILN_WIRE_FAILED) {
        KILN_TRY(kiln_wire_get(a, &f, &failed, err));
        return kiln_fail(err, KILN_ERR_LIB, "%s",
                         kiln_str_printable(a, failed.text, 200));
    }
    return kiln_wire_expect(a, &f, kind, message, err);
}

static kiln_status talk(kiln_arena *a, int fd, int n_notes, kiln_str *json,
                        kiln_err *err) {
    kiln_wire_stream in = {.arena = a};
    kiln_wire_hello hello;
    kiln_wire_listed listed;
    kiln_buf out;
    const kiln_wire_list want = {.n_notes = n_notes > 0 ? (uint32_t)n_notes : 0};
    KILN_TRY(hear(fd, &in, a, KILN_WIRE_HELLO, &hello, err));
    if (!kiln_str_is(hello.role, "pool"))
        return kiln_fail(err, KILN_ERR_IO, "it is a '%s', no pool",
                         kiln_str_printable(a, hello.role, 40));
    kiln_buf_init(&out, a);
    kiln_wire_put(&out, KILN_WIRE_LIST, &want);
    KILN_TRY(kiln_wire_write(fd, kiln_buf_str(&out), err));
    KILN_TRY(hear(fd, &in, a, KILN_WIRE_LISTED, &listed, err));
    *json = kiln_str_from(kiln_str_dupv(a, listed.json));
    return KILN_OK;
}

static kiln_status ask(kiln_arena *a, const char *address, int n_notes, kiln_str *json,
                       kiln_err *err) {
    kiln_wire_address at;
    KILN_TRY(kiln_wire_address_parse(address, &at, err));
    const int fd = kiln_wire_address_socket(&at);
    kiln_status st = KILN_OK;
    if (fd < 0 || connect(fd, &at.at.any, at.bytes) != 0)
        st = kiln_fail(err, KILN_ERR_IO, "nobody answers: %s", strerror(errno));
    if (st == KILN_OK)
        st = talk(a, fd, n_notes, json, err);
    if (fd >= 0)
        close(fd);
    return st;
}

/* ---- for people ----------------------------------------------------------------------- */

static const char *text_of(const kiln_json *row, const char *key) {
    return kiln_json_string(kiln_json_get(row, key), "");
}

static double seconds_of(const kiln_json *row, const char *key) {
    return kiln_json_number(kiln_json_get(row, key), 0) * 1e-3;
}

static int number_of(const kiln_json *row, const char *key) {
    const double v = kiln_json_number(kiln_json_get(row, key), 0);
    return v > 0 && v < 1e9 ? (int)v : 0;
}

static const char *time_of(kiln_arena *a, double seconds) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_progress_put_time(&out, seconds > 0 ? seconds : 0);
    return out.p;
}

static void put_devices(kiln_arena *a, const kiln_json *devices, kiln_buf *out) {
    kiln_buf_printf(out, "  %-28s %-12s %10s %7s %6s %6s  %s\n", "device", "state",
                    "since", "loans", "hangs", "lost", "who has it");
    for (const kiln_json *d = kiln_json_first(devices); d != NULL;
         d = kiln_json_next(d)) {
        const char *step = text_of(d, "step");
        kiln_buf_printf(
            out, "  %-28s %-12s %10s %7d %6d %6d  %s%s%s\n", text_of(d, "name"),
            text_of(d, "state"), time_of(a, seconds_of(d, "for_ms")),
            number_of(d, "loans"), number_of(d, "hangs"), number_of(d, "losses"),
            text_of(d, "owner"),
            kiln_json_bool(kiln_json_get(d, "is_recalled"), false) ? " (asked for it)"
                                                                   : "",
            step[0] != '\0' ? kiln_format(a, " [%s]", step) : "");
    }
}

static void put_owners(kiln_arena *a, const kiln_json *owners, kiln_buf *out) {
    for (const kiln_json *o = kiln_json_first(owners); o != NULL; o = kiln_json_next(o))
        kiln_buf_printf(
            out, "  %s: priority %d, has %d, waits for %d, had them for %s\n",
            text_of(o, "name"), number_of(o, "priority"), number_of(o, "has"),
            number_of(o, "waits_for"), time_of(a, seconds_of(o, "had_ms")));
}

static void put_log(kiln_arena *a, const kiln_json *log, kiln_buf *out) {
    for (const kiln_json *n = kiln_json_first(log); n != NULL; n = kiln_json_next(n))
        kiln_buf_printf(out, "  %s ago: %s: %s\n", time_of(a, seconds_of(n, "ago_ms")),
                        text_of(n, "device"), text_of(n, "text"));
}

kiln_status kiln_lender_ask(kiln_arena *a, const char *address, int n_notes,
                            kiln_lender_list *out, kiln_err *err) {
    const kiln_json *json;
    kiln_status st = ask(a, address, n_notes, &out->json, err);
    if (st == KILN_OK)
        st = kiln_json_parse(a, out->json, "the pool's list", &json, err);
    if (st != KILN_OK) {
        kiln_note(err, "asking the pool at %s", address);
        return st;
    }
    const kiln_json *devices = kiln_json_get(json, "devices");
    const kiln_json *owners = kiln_json_get(json, "owners");
    const kiln_json *log = kiln_json_get(json, "log");
    kiln_buf_init(&out->text, a);
    kiln_buf_printf(&out->text, "pool at %s, up %s: %zu device%s\n", address,
                    time_of(a, seconds_of(json, "up_ms")), kiln_json_size(devices),
                    kiln_json_size(devices) == 1 ? "" : "s");
    put_devices(a, devices, &out->text);
    if (kiln_json_size(owners) > 0)
        kiln_buf_puts(&out->text, "shares\n");
    put_owners(a, owners, &out->text);
    if (kiln_json_size(log) > 0)
        kiln_buf_puts(&out->text, "log\n");
    put_log(a, log, &out->text);
    return KILN_OK;
}
