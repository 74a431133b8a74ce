/* What a pool says of itself: docs/pool.md has the fields. */
#include "pipeline/pool/pool_internal.h"

static void put_device(const kiln_lender *p, int i, int64_t now, kiln_json_writer *w) {
    const kiln_lender_device *d = &p->core.device[i];
    const kiln_lender_request *r =
        d->request >= 0 ? &p->core.request[d->request] : NULL;
    const bool is_lent = d->state == KILN_LENDER_LENT;
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "name", d->name);
    kiln_json_member_str(w, "address", p->line[i].address);
    kiln_json_member_str(w, "state", kiln_lender_state_name(d->state));
    kiln_json_member_str(w, "step", kiln_lender_rung_name(d->rung));
    kiln_json_member_i64(w, "for_ms", now - d->since_ms);
    kiln_json_member_str(w, "owner", r != NULL ? p->core.owner[r->owner].name : "");
    kiln_json_member_bool(w, "is_recalled", r != NULL && r->recalled_ms >= 0);
    kiln_json_member_i64(w, "owes_ms", d->owes_ms >= 0 ? now - d->owes_ms : 0);
    kiln_json_member_i64(w, "heard_ms", now - d->heard_ms);
    kiln_json_member_i64(w, "lent_ms",
                         d->lent_total_ms + (is_lent ? now - d->since_ms : 0));
    kiln_json_member_i64(w, "loans", (int64_t)d->n_loans);
    kiln_json_member_i64(w, "hangs", (int64_t)d->n_hangs);
    kiln_json_member_i64(w, "losses", (int64_t)d->n_losses);
    kiln_json_member_i64(w, "degrees", d->temperature);
    kiln_json_end_object(w);
}

static void put_owners(const kiln_lender *p, kiln_json_writer *w) {
    kiln_json_name(w, "owners");
    kiln_json_begin_array(w);
    for (int i = 0; i < KILN_LENDER_MAX_REQUESTS; i++) {
        const kiln_lender_owner *o = &p->core.owner[i];
        if (o->n_held + o->n_waiting == 0)
            continue;
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", o->name);
        kiln_json_member_i64(w, "priority", o->priority);
        kiln_json_member_i64(w, "has", o->n_held);
        kiln_json_member_i64(w, "waits_for", o->n_waiting);
        kiln_json_member_i64(w, "had_ms", (int64_t)o->total_ms);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

static void put_notes(const kiln_lender *p, int n_notes, int64_t now,
                      kiln_json_writer *w) {
    const uint64_t n = p->core.n_notes;
    const uint64_t first = n > (uint64_t)n_notes ? n - (uint64_t)n_notes : 0;
    kiln_json_name(w, "log");
    kiln_json_begin_array(w);
    for (uint64_t i = first; i < n; i++) {
        const kiln_lender_note *note = &p->core.note[i % KILN_LENDER_NOTES];
        kiln_json_begin_object(w);
        kiln_json_member_i64(w, "ago_ms", now - note->ms);
        kiln_json_member_str(
            w, "device", note->device >= 0 ? p->core.device[note->device].name : "");
        kiln_json_member_str(w, "text", note->text);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

void kiln_lender_report(const kiln_lender *p, int n_notes, kiln_buf *json) {
    const int64_t now = kiln_lender_now_ms();
    kiln_json_writer w;
    kiln_json_writer_init(&w, json);
    kiln_json_begin_object(&w);
    kiln_json_member_i64(&w, "up_ms", now - p->begin_ms);
    kiln_json_name(&w, "devices");
    kiln_json_begin_array(&w);
    for (int i = 0; i < p->core.n_devices; i++)
        put_device(p, i, now, &w);
    kiln_json_end_array(&w);
    put_owners(p, &w);
    put_notes(p, n_notes, now, &w);
    kiln_json_end_object(&w);
}
