/* base/host: other processes, threads, signals and the machine. */
#ifndef KILN_BASE_HOST_H
#define KILN_BASE_HOST_H

#include "base/host/child.h"
#include "base/host/confine.h"
#include "base/host/interrupt.h"
#include "base/host/machine.h"
#include "base/host/process.h"
#include "base/host/task.h"

#endif
