/* The one piece of global state that a signal needs. */
#include "base/host/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

static volatile sig_atomic_t asked;

static void on_signal(int signal_number) {
    (void)signal_number;
    asked = 1;
}

/* Who started us with a signal ignored (a shell's background job) meant it. */
static void catch (int signal_number) {
    struct sigaction act, before;
    memset(&act, 0, sizeof act);
    act.sa_handler = on_signal;
    act.sa_flags = SA_RESTART | (int)SA_RESETHAND;
    sigemptyset(&act.sa_mask);
    if (sigaction(signal_number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(signal_number, &act, NULL);
}

void kiln_interrupt_catch(void) {
    catch (SIGINT);
    catch (SIGTERM);
    catch (SIGHUP);
}

bool kiln_interrupted(void) { return asked != 0; }

kiln_status kiln_interrupt_check(kiln_err *err) {
    return asked == 0 ? KILN_OK
                      : kiln_fail(err, KILN_ERR_INTERRUPTED,
                                  "interrupted; the same command starts again");
}
