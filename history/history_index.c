/* out/index.html: written at once, or left as it was. */
#include "history/history_internal.h"

kiln_status kiln_history_write_index(kiln_history *h, const char *pipeline,
                                     const char *out, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_nights nights;
    kiln_buf page;
    const char *real = NULL;
    kiln_buf_init(&page, &scratch);
    kiln_status st =
        kiln_history_read(h, &scratch, pipeline, KILN_NIGHTS_MOST, &nights, err);
    if (st == KILN_OK)
        st = kiln_path_real(&scratch, out, &real, err);
    if (st == KILN_OK) {
        kiln_nights_html(&page, &nights, real);
        st = kiln_file_write(kiln_path_join(&scratch, real, "index.html"), page.p,
                             page.n, err);
    }
    kiln_arena_fini(&scratch);
    return st;
}
