/* The matrices, by Cook and Toom's construction: points 0, 1 of three products, -1 too of
 * four, 1/2 too of five, in place of it 2, -2 of six, 1/2, -1/2 too of eight; the last row
 * of each belongs to the point at infinity. B^T depends on the points alone. In steps of
 * two those of the even elements come first, then those of the odd ones. */
#include "compiler/graph/winograd.h"

#include <math.h>

static const double bt_1[][KILN_WINOGRAD_MAX_N] = {{1}};
static const double bt_3[][KILN_WINOGRAD_MAX_N] = {{-1, 1, 0}, {0, 1, 0}, {0, -1, 1}};
static const double bt_4[][KILN_WINOGRAD_MAX_N] = {
    {1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}};
static const double bt_5[][KILN_WINOGRAD_MAX_N] = {{0.5, -1, -0.5, 1, 0},
                                                   {0, -0.5, 0.5, 1, 0},
                                                   {0, 0.5, -1.5, 1, 0},
                                                   {0, -1, 0, 1, 0},
                                                   {0, 0.5, -1, -0.5, 1}};
static const double bt_6[][KILN_WINOGRAD_MAX_N] = {
    {4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
    {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
static const double bt_8[][KILN_WINOGRAD_MAX_N] = {
    {-1, 0, 5.25, 0, -5.25, 0, 1, 0},      {0, 1, 1, -4.25, -4.25, 1, 1, 0},
    {0, -1, 1, 4.25, -4.25, -1, 1, 0},     {0, 0.5, 0.25, -2.5, -1.25, 2, 1, 0},
    {0, -0.5, 0.25, 2.5, -1.25, -2, 1, 0}, {0, 2, 4, -2.5, -5, 0.5, 1, 0},
    {0, -2, 4, 2.5, -5, -0.5, 1, 0},       {0, -1, 0, 5.25, 0, -5.25, 0, 1}};

/* Steps of two: F(2, 2) and F(2, 1); F(3, 2) and F(3, 1); F(2, 3) and F(2, 2); F(2, 2)
 * twice; F(3, 2) twice. */
static const double bt_3_2[][KILN_WINOGRAD_MAX_N] = {{-1, 0, 1, 0, 0},
                                                     {0, 0, 1, 0, 0},
                                                     {0, 0, -1, 0, 1},
                                                     {0, 1, 0, 0, 0},
                                                     {0, 0, 0, 1, 0}};
static const double bt_4_3[][KILN_WINOGRAD_MAX_N] = {
    {-1, 0, 0, 0, 1, 0, 0}, {0, 0, 1, 0, 1, 0, 0}, {0, 0, -1, 0, 1, 0, 0},
    {0, 0, -1, 0, 0, 0, 1}, {0, 1, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 0, 0, 0},
    {0, 0, 0, 0, 0, 1, 0}};
static const double bt_4_3_of_5[][KILN_WINOGRAD_MAX_N] = {
    {-1, 0, 0, 0, 1, 0, 0}, {0, 0, 1, 0, 1, 0, 0},  {0, 0, -1, 0, 1, 0, 0},
    {0, 0, -1, 0, 0, 0, 1}, {0, -1, 0, 1, 0, 0, 0}, {0, 0, 0, 1, 0, 0, 0},
    {0, 0, 0, -1, 0, 1, 0}};

static const double bt_3_3[][KILN_WINOGRAD_MAX_N] = {
    {-1, 0, 1, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {0, 0, -1, 0, 1, 0},
    {0, -1, 0, 1, 0, 0}, {0, 0, 0, 1, 0, 0}, {0, 0, 0, -1, 0, 1}};
static const double bt_4_4[][KILN_WINOGRAD_MAX_N] = {
    {-1, 0, 0, 0, 1, 0, 0, 0}, {0, 0, 1, 0, 1, 0, 0, 0},  {0, 0, -1, 0, 1, 0, 0, 0},
    {0, 0, -1, 0, 0, 0, 1, 0}, {0, -1, 0, 0, 0, 1, 0, 0}, {0, 0, 0, 1, 0, 1, 0, 0},
    {0, 0, 0, -1, 0, 1, 0, 0}, {0, 0, 0, -1, 0, 0, 0, 1}};

#define IN_STEPS_OF(s)                                                                 \
    {                                                                                  \
        .tile = 1, .taps = 1, .stride = (s), .n = 1, .amplification = 1, .at = {{1}},  \
        .bt = bt_1, .g = {{1}}, .divisor = {                                           \
            1                                                                          \
        }                                                                              \
    }

static const kiln_winograd all[] = {
    IN_STEPS_OF(1),
    IN_STEPS_OF(2),
    {.tile = 2,
     .taps = 2,
     .stride = 1,
     .n = 3,
     .amplification = 4,
     .at = {{1, 1, 0}, {0, 1, 1}},
     .bt = bt_3,
     .g = {{1, 0}, {1, 1}, {0, 1}},
     .divisor = {-1, 1, 1}},
    {.tile = 4,
     .taps = 2,
     .stride = 1,
     .n = 5,
     .amplification = 30,
     .at = {{1, 1, 1, 1, 0},
            {0, 1, -1, 0.5, 0},
            {0, 1, 1, 0.25, 0},
            {0, 1, -1, 0.125, 1}},
     .bt = bt_5,
     .g = {{1, 0}, {1, 1}, {1, -1}, {1, 0.5}, {0, 1}},
     .divisor = {0.5, 1, -3, -0.375, 1}},
    {.tile = 2,
     .taps = 3,
     .stride = 1,
     .n = 4,
     .amplification = 4,
     .at = {{1, 1, 1, 0}, {0, 1, -1, 1}},
     .bt = bt_4,
     .g = {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 1}},
     .divisor = {1, 2, 2, 1}},
    {.tile = 4,
     .taps = 3,
     .stride = 1,
     .n = 6,
     .amplification = 30,
     .at = {{1, 1, 1, 1, 1, 0},
            {0, 1, -1, 2, -2, 0},
            {0, 1, 1, 4, 4, 0},
            {0, 1, -1, 8, -8, 1}},
     .bt = bt_6,
     .g = {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {1, 2, 4}, {1, -2, 4}, {0, 0, 1}},
     .divisor = {4, -6, -6, 24, 24, 1}},
    {.tile = 2,
     .taps = 4,
     .stride = 1,
     .n = 5,
     .amplification = 8,
     .at = {{1, 1, 1, 1, 0}, {0, 1, -1, 0.5, 1}},
     .bt = bt_5,
     .g = {{1, 0, 0, 0},
           {1, 1, 1, 1},
           {1, -1, 1, -1},
           {1, 0.5, 0.25, 0.125},
           {0, 0, 0, 1}},
     .divisor = {0.5, 1, -3, -0.375, 1}},
    {.tile = 2,
     .taps = 5,
     .stride = 1,
     .n = 6,
     .amplification = 8,
     .at = {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 1}},
     .bt = bt_6,
     .g = {{1, 0, 0, 0, 0},
           {1, 1, 1, 1, 1},
           {1, -1, 1, -1, 1},
           {1, 2, 4, 8, 16},
           {1, -2, 4, -8, 16},
           {0, 0, 0, 0, 1}},
     .divisor = {4, -6, -6, 24, 24, 1}},
    {.tile = 4,
     .taps = 5,
     .stride = 1,
     .n = 8,
     .amplification = 36,
     .at = {{1, 1, 1, 1, 1, 1, 1, 0},
            {0, 1, -1, 2, -2, 0.5, -0.5, 0},
            {0, 1, 1, 4, 4, 0.25, 0.25, 0},
            {0, 1, -1, 8, -8, 0.125, -0.125, 1}},
     .bt = bt_8,
     .g = {{1, 0, 0, 0, 0},
           {1, 1, 1, 1, 1},
           {1, -1, 1, -1, 1},
           {1, 2, 4, 8, 16},
           {1, -2, 4, -8, 16},
           {1, 0.5, 0.25, 0.125, 0.0625},
           {1, -0.5, 0.25, -0.125, 0.0625},
           {0, 0, 0, 0, 1}},
     .divisor = {-1, -4.5, -4.5, 90, 90, 1.40625, 1.40625, 1}},
    {.tile = 2,
     .taps = 7,
     .stride = 1,
     .n = 8,
     .amplification = 30,
     .at = {{1, 1, 1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0.5, -0.5, 1}},
     .bt = bt_8,
     .g = {{1, 0, 0, 0, 0, 0, 0},
           {1, 1, 1, 1, 1, 1, 1},
           {1, -1, 1, -1, 1, -1, 1},
           {1, 2, 4, 8, 16, 32, 64},
           {1, -2, 4, -8, 16, -32, 64},
           {1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625},
           {1, -0.5, 0.25, -0.125, 0.0625, -0.03125, 0.015625},
           {0, 0, 0, 0, 0, 0, 1}},
     .divisor = {-1, -4.5, -4.5, 90, 90, 1.40625, 1.40625, 1}},
    {.tile = 2,
     .taps = 3,
     .stride = 2,
     .n = 5,
     .amplification = 4,
     .at = {{1, 1, 0, 1, 0}, {0, 1, 1, 0, 1}},
     .bt = bt_3_2,
     .g = {{1, 0, 0}, {1, 0, 1}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}},
     .divisor = {-1, 1, 1, 1, 1}},
    {.tile = 3,
     .taps = 3,
     .stride = 2,
     .n = 7,
     .amplification = 4,
     .at = {{1, 1, 1, 0, 1, 0, 0}, {0, 1, -1, 0, 0, 1, 0}, {0, 1, 1, 1, 0, 0, 1}},
     .bt = bt_4_3,
     .g =
         {{1, 0, 0}, {1, 0, 1}, {1, 0, -1}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}, {0, 1, 0}},
     .divisor = {-1, 2, 2, 1, 1, 1, 1}},
    {.tile = 2,
     .taps = 4,
     .stride = 2,
     .n = 6,
     .amplification = 4,
     .at = {{1, 1, 0, 1, 1, 0}, {0, 1, 1, 0, 1, 1}},
     .bt = bt_3_3,
     .g = {{1, 0, 0, 0},
           {1, 0, 1, 0},
           {0, 0, 1, 0},
           {0, 1, 0, 0},
           {0, 1, 0, 1},
           {0, 0, 0, 1}},
     .divisor = {-1, 1, 1, -1, 1, 1}},
    {.tile = 3,
     .taps = 4,
     .stride = 2,
     .n = 8,
     .amplification = 4,
     .at = {{1, 1, 1, 0, 1, 1, 1, 0},
            {0, 1, -1, 0, 0, 1, -1, 0},
            {0, 1, 1, 1, 0, 1, 1, 1}},
     .bt = bt_4_4,
     .g = {{1, 0, 0, 0},
           {1, 0, 1, 0},
           {1, 0, -1, 0},
           {0, 0, 1, 0},
           {0, 1, 0, 0},
           {0, 1, 0, 1},
           {0, 1, 0, -1},
           {0, 0, 0, 1}},
     .divisor = {-1, 2, 2, 1, -1, 2, 2, 1}},
    {.tile = 2,
     .taps = 5,
     .stride = 2,
     .n = 7,
     .amplification = 4,
     .at = {{1, 1, 1, 0, 1, 1, 0}, {0, 1, -1, 1, 0, 1, 1}},
     .bt = bt_4_3_of_5,
     .g = {{1, 0, 0, 0, 0},
           {1, 0, 1, 0, 1},
           {1, 0, -1, 0, 1},
           {0, 0, 0, 0, 1},
           {0, 1, 0, 0, 0},
           {0, 1, 0, 1, 0},
           {0, 0, 0, 1, 0}},
     .divisor = {-1, 2, 2, 1, -1, 1, 1}},
};

const kiln_winograd *kiln_winograd_of(int64_t tile, int64_t taps, int64_t stride) {
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].tile == tile && all[i].taps == taps && all[i].stride == stride)
            return &all[i];
    return NULL;
}

bool kiln_winograd_pair_of(int64_t size, const int64_t taps[2], int64_t stride,
                           kiln_winograd_pair *out) {
    for (int i = 0; i < 2; i++) {
        out->f[i] = kiln_winograd_of(taps[i] == 1 ? 1 : size, taps[i], stride);
        if (out->f[i] == NULL)
            return false;
    }
    const int64_t n = kiln_winograd_positions(out);
    return n > 1 && n <= KILN_WINOGRAD_MAX_POSITIONS &&
           kiln_winograd_share(out) >= KILN_WINOGRAD_LEAST_SHARE;
}

int64_t kiln_winograd_positions(const kiln_winograd_pair *p) {
    return (int64_t)p->f[0]->n * p->f[1]->n;
}

double kiln_winograd_amplification(const kiln_winograd_pair *p) {
    return sqrt(p->f[0]->amplification * p->f[1]->amplification);
}

double kiln_winograd_share(const kiln_winograd_pair *p) {
    double share = 1;
    for (int i = 0; i < 2; i++)
        share *= p->f[i]->n / ((double)p->f[i]->tile * p->f[i]->taps);
    return share;
}
