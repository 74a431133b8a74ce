/* Clock, temperature, and whether the system holds the processor back: what Linux tells in
 * /sys (Documentation/admin-guide/pm/cpufreq.rst, driver-api/thermal/sysfs-api.rst,
 * x86's thermal_throttle). Each of these is missing somewhere, on most virtual machines
 * all are: then nothing is known, and nothing changes. KILN_SYSFS names another folder in
 * the place of /sys. */
#include "pipeline/measure/runner/heat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ZONES = 16, COOLERS = 32, MOST_DEGREES = 200, PATH_BYTES = 192 };

static const char *root(void) {
    const char *named = getenv("KILN_SYSFS");
    return named != NULL && named[0] != '\0' ? named : "/sys";
}

/* The line of a file without its end; false: it cannot be read. */
static bool read_line(const char *path, char *text, size_t room) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return n > 0;
}

/* 0: there is no such number. */
static long number_in(const char *path) {
    char text[32];
    const long v = read_line(path, text, sizeof text) ? strtol(text, NULL, 10) : 0;
    return v > 0 ? v : 0;
}

static long zone(int i) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/class/thermal/thermal_zone%d/temp", root(),
                   i);
    return number_in(path) / 1000;
}

uint32_t kiln_heat_degrees(void) {
    long most = 0;
    for (int i = 0; i < ZONES; i++) {
        const long degrees = zone(i);
        if (degrees > most && degrees < MOST_DEGREES)
            most = degrees;
    }
    return (uint32_t)most;
}

/* "thermal-cpufreq-0", on newer kernels "cpufreq-cpu0": held back while its state is not
 * 0. "Processor" is ACPI's. */
static bool is_processors(const char *type) {
    return strstr(type, "cpufreq") != NULL || strcmp(type, "Processor") == 0;
}

static bool is_held_back(int i) {
    char path[PATH_BYTES], type[64];
    (void)snprintf(path, sizeof path, "%s/class/thermal/cooling_device%d/type", root(),
                   i);
    if (!read_line(path, type, sizeof type) || !is_processors(type))
        return false;
    (void)snprintf(path, sizeof path, "%s/class/thermal/cooling_device%d/cur_state",
                   root(), i);
    return number_in(path) > 0;
}

static long of_cpu(int cpu, const char *file) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/%s", root(), cpu,
                   file);
    return number_in(path);
}

/* Which of them exist is looked at once: a slice is short. */
void kiln_heat_begin(kiln_heat *h, int cpu) {
    char path[PATH_BYTES], type[64];
    *h = (kiln_heat){.cpu = cpu > 0 ? cpu : 0};
    for (int i = 0; i < COOLERS; i++) {
        (void)snprintf(path, sizeof path, "%s/class/thermal/cooling_device%d/type",
                       root(), i);
        if (read_line(path, type, sizeof type) && is_processors(type))
            h->coolers |= (uint32_t)1 << i;
    }
    h->has_clock = of_cpu(h->cpu, "cpufreq/scaling_cur_freq") > 0;
    h->has_zones = kiln_heat_degrees() > 0;
    h->n_throttled = of_cpu(h->cpu, "thermal_throttle/core_throttle_count");
}

kiln_heat_reading kiln_heat_read(kiln_heat *h) {
    kiln_heat_reading r = {.degrees = h->has_zones ? kiln_heat_degrees() : 0};
    if (h->has_clock)
        r.clock_mhz = (uint32_t)(of_cpu(h->cpu, "cpufreq/scaling_cur_freq") / 1000);
    for (int i = 0; i < COOLERS; i++)
        if ((h->coolers >> i & 1) != 0)
            r.is_throttled = r.is_throttled || is_held_back(i);
    /* It counts from when the system began: 0 is nothing, or no such file. */
    const long n = of_cpu(h->cpu, "thermal_throttle/core_throttle_count");
    r.is_throttled = r.is_throttled || n > h->n_throttled;
    h->n_throttled = n;
    return r;
}
