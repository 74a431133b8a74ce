/* The pairwise rank loss (Burges et al., ICML'05; Chen's thesis, equation 5.2), each
 * pair weighted by how different its scores are: near ties, which noise may have
 * swapped, say little. */
#include "compiler/tuner/model/rank.h"

#include <math.h>

/* Rows that one is compared with, in groups that are larger: evenly spread. */
enum { MAX_PARTNERS = 1024 };

/* Smallest exponent taken: sums of two such powers are still normal numbers. */
static const double least_exponent = -600;

static void rank_group(kiln_arena *scratch, double counts, const float *score,
                       const float *f, size_t n, float *gradient, float *hessian) {
    const size_t step = (n + MAX_PARTNERS - 1) / MAX_PARTNERS;
    const double scale = counts / ((double)n / (double)step);
    double *power = kiln_array(scratch, double, n); /* exp(f), scaled */
    float most = f[0];
    for (size_t i = 1; i < n; i++)
        most = fmaxf(most, f[i]);
    for (size_t i = 0; i < n; i++)
        power[i] = exp(fmax((double)f[i] - (double)most, least_exponent));
    for (size_t i = 0; i < n; i++)
        for (size_t j = i % step; j < n; j += step) {
            const double weight = (double)score[i] - (double)score[j];
            if (weight <= 0)
                continue;
            /* the probability that the pair is the wrong way round */
            const double p = power[j] / (power[i] + power[j]);
            const double g = scale * weight * p, h = g * (1 - p);
            gradient[i] -= (float)g;
            gradient[j] += (float)g;
            hessian[i] += (float)h;
            hessian[j] += (float)h;
        }
}

void kiln_objective_gradient(kiln_arena *scratch, kiln_objective o,
                             const kiln_samples *s, const float *predicted,
                             float *gradient, float *hessian) {
    for (size_t i = 0; i < s->encoding.n; i++) {
        const float weight = s->weight != NULL ? s->weight[i] : 1;
        gradient[i] =
            o == KILN_OBJECTIVE_RANK ? 0 : weight * (predicted[i] - s->score[i]);
        hessian[i] = o == KILN_OBJECTIVE_RANK ? 0 : weight;
    }
    if (o != KILN_OBJECTIVE_RANK)
        return;
    for (size_t begin = 0, end; begin < s->encoding.n; begin = end) {
        for (end = begin + 1; end < s->encoding.n && s->group[end] == s->group[begin];)
            end++;
        rank_group(scratch, s->weight != NULL ? (double)s->weight[begin] : 1,
                   s->score + begin, predicted + begin, end - begin, gradient + begin,
                   hessian + begin);
    }
}
