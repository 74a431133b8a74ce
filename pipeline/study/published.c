/* Liu et al., "Optimizing CNN Model Inference on CPUs" (NeoCPU), USENIX ATC 2019: Table 2
 * (a) and Table 3, both on an Intel Skylake with 18 cores. */
#include "pipeline/study/study_internal.h"

#include <string.h>

static const kiln_published table[] = {
    {"resnet18", 2.77, 4.07, 3.54, 2.64, {0}},
    {"resnet34", 4.85, 6.95, 5.43, 5.14, {0}},
    {"resnet50", 6.60, 11.93, 7.95, 5.73, {1, 5.34, 8.22, 12.25}},
    {"resnet101", 12.90, 20.36, 12.55, 11.15, {0}},
    {"resnet152", 18.58, 37.33, 17.32, 17.24, {0}},
    {"vgg11", 12.05, 18.78, 138.07, 11.91, {0}},
    {"vgg13", 15.16, 24.28, 137.51, 14.91, {0}},
    {"vgg16", 18.55, 27.64, 140.95, 18.21, {0}},
    {"vgg19", 21.83, 35.94, 147.41, 21.77, {1, 8.33, 9.33, 10.54}},
    {"densenet121", 14.72, 18.65, 9.03, 8.04, {0}},
    {"densenet161", 31.07, 32.97, 18.55, 17.45, {0}},
    {"densenet169", 19.73, 23.03, 11.80, 11.21, {0}},
    {"densenet201", 26.66, 29.19, 14.92, 13.97, {1, 4.08, 5.51, 6.89}},
    {"inception_v3", 10.43, 16.39, 10.65, 10.67, {1, 7.41, 9.11, 11.85}},
    {"ssd_resnet50", 42.71, 358.98, 30.25, 31.48, {1, 6.34, 9.32, 12.49}},
};
enum { N_MODELS = sizeof table / sizeof table[0] };

const kiln_published *kiln_published_at(int i) {
    return i >= 0 && i < N_MODELS ? &table[i] : NULL;
}

const kiln_published *kiln_published_find(const char *model) {
    for (int i = 0; i < N_MODELS; i++)
        if (strcmp(table[i].model, model) == 0)
            return &table[i];
    return NULL;
}
