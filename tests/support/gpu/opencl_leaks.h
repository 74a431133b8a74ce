/* For tests that may run something on an OpenCL device. */
#ifndef KILN_TESTS_SUPPORT_GPU_OPENCL_LEAKS_H
#define KILN_TESTS_SUPPORT_GPU_OPENCL_LEAKS_H

/* Once in such a test: drivers compile in threads of their own and keep
 * what they made, which LeakSanitizer would find. */
#define OPENCL_LEAKS_ARE_THE_DRIVERS                                                   \
    int __lsan_is_turned_off(void); /* NOLINT: the name is the sanitizer's */          \
    int __lsan_is_turned_off(void) { return 1; } /* NOLINT */

#endif
