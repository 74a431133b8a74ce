/* What torch.save writes: Python's objects without the code of the model. Refused, with
 * what the file holds and the way out. */
#include <string.h>

#include "compiler/frontend/pytorch/pickle/pickle.h"
#include "compiler/frontend/pytorch/pytorch_internal.h"
#include "compiler/frontend/zip.h"

#define REMEDY                                                                         \
    "without the model's code. Load it into its model, then "                          \
    "torch.export.save(torch.export.export(model.eval(), inputs), 'model.pt2'), or "   \
    "torch.jit.save(torch.jit.trace(model.eval(), inputs), 'model.pt')"

static kiln_str find_pickle(kiln_str zip) {
    kiln_zip_entry e;
    uint64_t at = 0;
    while (kiln_zip_next(zip, &at, &e))
        if (kiln_str_is(e.name, "data.pkl") || kiln_str_ends(e.name, "/data.pkl"))
            return e.bytes;
    return (kiln_str){NULL, 0};
}

/* The pickle of a number that says what the file is. */
#define OLD_MAGIC                                                                      \
    "\x80\x02\x8a\x0al\xfc\x9c"                                                        \
    "F\xf9 j\xa8P\x19."

bool kiln_saved_is_old(kiln_str bytes) { return kiln_str_starts(bytes, OLD_MAGIC); }

/* Behind the magic number the format's number and what the machine was like, then what was
 * saved; tensors' bytes come last. */
static kiln_status read_old(kiln_arena *a, kiln_str bytes,
                            const kiln_pickle_value **out, kiln_err *err) {
    enum { BEFORE = 2 };
    size_t at = sizeof OLD_MAGIC - 1;
    for (int i = 0; i < BEFORE; i++)
        KILN_TRY(kiln_pickle_read_next(a, bytes, "its head", &at, out, err));
    return kiln_pickle_read_next(a, bytes, "its pickle", &at, out, err);
}

static kiln_status read_saved(kiln_arena *a, kiln_str bytes,
                              const kiln_pickle_value **out, kiln_err *err) {
    if (kiln_saved_is_old(bytes))
        return read_old(a, bytes, out, err);
    const kiln_str pickle = find_pickle(bytes);
    return pickle.p != NULL ? kiln_pickle_read(a, pickle, "data.pkl", out, err)
                            : KILN_ERR_PARSE;
}

static size_t count_tensors(const kiln_pickle_value *v) {
    size_t n = 0;
    for (size_t i = 1; v->kind == KILN_PICKLE_DICT && i < v->item.n; i += 2)
        n += kiln_pickle_is_tensor(v->item.v[i]);
    return n;
}

/* A state dict, or what holds one: {"state_dict": {...}, "epoch": 3}. */
static const kiln_pickle_value *find_state(const kiln_pickle_value *v) {
    if (count_tensors(v) > 0)
        return v;
    for (size_t i = 1; v->kind == KILN_PICKLE_DICT && i < v->item.n; i += 2)
        if (count_tensors(v->item.v[i]) > 0)
            return v->item.v[i];
    return NULL;
}

static kiln_status refuse_state(kiln_arena *a, const kiln_pickle_value *state,
                                kiln_err *err) {
    enum { SHOWN_NAME = 60 };
    kiln_pickle_tensor t;
    size_t i = 1;
    while (!kiln_pickle_is_tensor(state->item.v[i]))
        i += 2;
    const kiln_pickle_value *const key = state->item.v[i - 1];
    const bool is_known = kiln_pickle_tensor_of(state->item.v[i], &t, NULL) == KILN_OK;
    const size_t n = count_tensors(state);
    return kiln_fail(
        err, KILN_ERR_UNSUPPORTED,
        "it is a state dict of torch.save: weights by name (%zu tensor%s, first "
        "'%s'%s%s), " REMEDY,
        n, n == 1 ? "" : "s",
        key->kind == KILN_PICKLE_STR ? kiln_str_printable(a, key->s, SHOWN_NAME) : "",
        is_known ? ", " : "", is_known ? kiln_type_text(a, &t.type) : "");
}

kiln_status kiln_saved_refuse(kiln_str bytes, kiln_err *err) {
    kiln_arena a = {0};
    kiln_err own = {0};
    const kiln_pickle_value *v = NULL;
    kiln_status st = read_saved(&a, bytes, &v, &own);
    const kiln_pickle_value *const state = st == KILN_OK ? find_state(v) : NULL;
    if (state != NULL) {
        st = refuse_state(&a, state, err);
    } else if (st == KILN_ERR_UNSUPPORTED) { /* a class of somebody's */
        *err = own;
        kiln_note(err, "reading what torch.save wrote");
    } else {
        st = kiln_fail(err, KILN_ERR_UNSUPPORTED,
                       "it is what torch.save writes: objects of Python, " REMEDY);
    }
    kiln_arena_fini(&a);
    return st;
}
