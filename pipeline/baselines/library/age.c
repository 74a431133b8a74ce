/* How old a library is, beside its version: a comparison with what nobody installs any
 * more says little, and a number alone does not show it. */
#include "pipeline/baselines/library/library.h"

#include <string.h>

/* Of snapshots: "0.0~git20220217.fdafc38-1", as Debian has them. */
static bool snapshot_month(const char *version, int *year, int *month) {
    const char *at = strstr(version, "git");
    int64_t day = 0;
    enum { DIGITS = 8 };
    for (; at != NULL; at = strstr(at + 1, "git"))
        if (strspn(at + 3, "0123456789") == DIGITS &&
            kiln_parse_i64((kiln_str){at + 3, DIGITS}, &day)) {
            *year = (int)(day / 10000);
            *month = (int)(day / 100 % 100);
            return *year >= 2000 && *month >= 1 && *month <= 12;
        }
    return false;
}

const char *kiln_library_dated(kiln_arena *a, const char *version) {
    static const char *const name[] = {"January",   "February", "March",    "April",
                                       "May",       "June",     "July",     "August",
                                       "September", "October",  "November", "December"};
    int year = 0, month = 0;
    return snapshot_month(version, &year, &month)
               ? kiln_format(a, "%s (of %s %d)", version, name[month - 1], year)
               : version;
}

/* Years of its releases, by their announcements. */
const char *kiln_library_onednn_dated(kiln_arena *a, int major, int minor, int patch) {
    static const struct {
        int major, minor, year;
    } released[] = {{2, 0, 2020},  {2, 1, 2021}, {2, 2, 2021},  {2, 3, 2021},
                    {2, 4, 2021},  {2, 5, 2021}, {2, 6, 2022},  {2, 7, 2022},
                    {3, 0, 2022},  {3, 1, 2023}, {3, 2, 2023},  {3, 3, 2023},
                    {3, 4, 2024},  {3, 5, 2024}, {3, 6, 2024},  {3, 7, 2025},
                    {3, 8, 2025},  {3, 9, 2025}, {3, 10, 2025}, {3, 11, 2026},
                    {3, 12, 2026}, {3, 13, 2026}};
    for (size_t i = 0; i < sizeof released / sizeof released[0]; i++)
        if (released[i].major == major && released[i].minor == minor)
            return kiln_format(a, "%d.%d.%d (of %d)", major, minor, patch,
                               released[i].year);
    return kiln_format(a, "%d.%d.%d", major, minor, patch);
}
