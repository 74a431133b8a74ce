/* A value that was read, written again: apart from the rest of the writer, which needs
 * no library. */
#include "base/text/json.h"
#include "base/core/core.h"

/* A document nests KILN_JSON_MAX_DEPTH deep at most, a writer asserts its own limit. */
void kiln_json_put(kiln_json_writer *w, const kiln_json *v) {
    const bool is_object = kiln_json_is_object(v);
    if (is_object || kiln_json_is_array(v)) {
        if (is_object)
            kiln_json_begin_object(w);
        else
            kiln_json_begin_row(w);
        for (const kiln_json *m = kiln_json_first(v); m != NULL;
             m = kiln_json_next(m)) {
            if (is_object)
                kiln_json_name(w, kiln_json_key(m));
            kiln_json_put(w, m);
        }
        if (is_object)
            kiln_json_end_object(w);
        else
            kiln_json_end_array(w);
    } else if (kiln_json_is_string(v)) {
        kiln_json_put_string(w, kiln_str_from(kiln_json_string(v, "")));
    } else if (kiln_json_is_number(v)) {
        kiln_json_put_f64(w, kiln_json_number(v, 0));
    } else if (kiln_json_is_bool(v)) {
        kiln_json_put_bool(w, kiln_json_bool(v, false));
    } else {
        kiln_json_put_null(w);
    }
}
