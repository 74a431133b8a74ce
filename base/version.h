/* kiln's version. Makefile reads it here. */
#ifndef KILN_BASE_VERSION_H
#define KILN_BASE_VERSION_H

#define KILN_VERSION "0.1.0"

#endif
