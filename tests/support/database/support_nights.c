#include "tests/support/database/support_nights.h"

#include <math.h>
#include <string.h>

#include "tests/support/kiln_test.h"

static double normal(kiln_rng *rng) {
    const double u = kiln_rng_unit(rng), v = kiln_rng_unit(rng);
    return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

static kiln_stats_interval about(kiln_rng *rng, double ratio, double sd) {
    const double v = ratio * exp(sd * normal(rng));
    return (kiln_stats_interval){v, v * exp(-1.96 * sd), v * exp(1.96 * sd)};
}

static const char *sha256_of(const char *text) {
    char hex[KILN_SHA256_HEX];
    kiln_sha256_of(text, strlen(text), hex);
    return kiln_str_dup(kiln_test_arena(), hex);
}

static kiln_night_job one_job(kiln_rng *rng, int job, int number, double ratio) {
    kiln_arena *a = kiln_test_arena();
    const char *model = kiln_format(a, "net%d", job);
    const kiln_night_baseline b = {"onnxruntime", about(rng, .8, .01)};
    kiln_night_job j = {
        .model = model,
        .profile = "native",
        .threads = 1 + job % 2,
        .status = "ok",
        .verdict = "pass",
        .median_ms = 2.5,
        .ratio = about(rng, ratio, .002),
        .archive = sha256_of(kiln_format(a, "%s of night %d", model, number)),
        .accepted = sha256_of(kiln_format(a, "%s accepted %d", model, number / 30)),
        .frozen = sha256_of(model),
        .archive_bytes = 1000000};
    kiln_vec_push(a, &j.baseline, b);
    return j;
}

kiln_night nights_one(kiln_rng *rng, const char *out, int number, int n_jobs,
                      double ratio) {
    kiln_arena *a = kiln_test_arena();
    const char *run = kiln_format(a, "20%02d-%02d-%02dT02-00-00", 26 + number / 336,
                                  number / 28 % 12 + 1, number % 28 + 1);
    kiln_night n = {.folder = kiln_path_join(a, out, run),
                    .run = run,
                    .pipeline = "demo",
                    .started = kiln_format(a, "%.10sT02:00:00Z", run),
                    .status = "ok",
                    .verdict = "pass",
                    .kiln = "0.1.0",
                    .commit = sha256_of(kiln_format(a, "%d", number / 3)),
                    .cpu = "a processor",
                    .os = "Linux",
                    .cores = 2,
                    .seconds = 3600,
                    .bytes = 30000000};
    for (int k = 0; k < n_jobs; k++) {
        const kiln_night_job j = one_job(rng, k, number, k == 0 ? ratio : 1);
        kiln_vec_push(a, &n.job, j);
    }
    return n;
}

void nights_many(kiln_rng *rng, const char *out, int n, int n_jobs,
                 double (*ratio)(int), kiln_nights *nights) {
    *nights = (kiln_nights){.n = 0};
    for (int i = 0; i < n; i++) {
        const kiln_night one =
            nights_one(rng, out, i, n_jobs, ratio != NULL ? ratio(i) : 1);
        kiln_vec_push(kiln_test_arena(), nights, one);
    }
}
