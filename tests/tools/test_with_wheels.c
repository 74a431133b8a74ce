/* tests/tools/with_wheels.sh with a made-up python3: what is installed when, and that a
 * failure is never taken for an installed list.
 *
 * The real one is hundreds of megabytes away. Each row is a shell script; the made-up
 * python3 prints what it was asked for, and fails where VENV, PIP or TOOL say so. */
#include <string.h>

#include "base/base.h"
#include "tests/support/kiln_test.h"

#define LEFT_OUT                                                                       \
    "tool: left out, the wheels of tools/some_wheels.txt cannot be had here\n"
#define RAN "ran --kiln K --work build/work\n"

typedef struct {
    const char *name;
    const char *script;
    const char *want; /* all that it prints */
} row;

static row rows[] = {
    {"installs_once", "run; run", "venv\ninstall\n" RAN RAN},
    {"passes_arguments_on", "run --models 3",
     "venv\ninstall\nran --kiln K --work build/work --models 3\n"},
    {"installs_a_list_that_changed",
     "run; echo b==1 >> tools/some_wheels.txt; run; run",
     "venv\ninstall\n" RAN "venv\ninstall\n" RAN RAN},
    {"keeps_nothing_of_another_list",
     "run; touch $P/old; echo b==1 > tools/some_wheels.txt; run; ls $P",
     "venv\ninstall\n" RAN "venv\ninstall\n" RAN "wheels.txt\n"},
    {"installs_a_second_list_alone",
     "echo c==1 > tools/some_wheels_alone.txt; run; run; cat $P/wheels.txt; "
     "echo d==1 >> tools/some_wheels_alone.txt; run",
     "venv\ninstall\nalone\n" RAN RAN "a==1\nc==1\n"
     "venv\ninstall\nalone\n" RAN},
    {"keeps_lists_apart",
     "run; cp tools/some_wheels.txt tools/more_wheels.txt; more; run; ls build",
     "venv\ninstall\n" RAN "venv\ninstall\n" RAN RAN
     "more-venv\nmore-venv.lock\nsome-venv\nsome-venv.lock\nwork\n"},
    {"installs_where_python_is_gone", "run; rm build/some-venv/bin/python; run",
     "venv\ninstall\n" RAN "venv\ninstall\n" RAN},
    {"installs_where_python_looks_elsewhere", "run; mv $P $P.old; run",
     "venv\ninstall\n" RAN "venv\ninstall\n" RAN},
    {"leaves_out_what_pip_cannot_get", "export PIP=1; run; echo $?; ls $P",
     "venv\ninstall\n" LEFT_OUT "0\n"},
    {"tries_again_after_a_failure", "export PIP=1; run; export PIP=0; run",
     "venv\ninstall\n" LEFT_OUT "venv\ninstall\n" RAN},
    {"a_failure_does_not_count_as_the_list_before",
     "run; echo b==1 >> tools/some_wheels.txt; export PIP=1; run; run",
     "venv\ninstall\n" RAN "venv\ninstall\n" LEFT_OUT "venv\ninstall\n" LEFT_OUT},
    {"leaves_out_what_has_no_venv", "export VENV=1; run; echo $?",
     "venv\ntool: left out, no Python 3 with venv here: Debian's python3-venv\n0\n"},
    {"two_at_once_install_once", "run & run; wait", "venv\ninstall\n" RAN RAN},
    {"a_tool_may_leave_itself_out", "export TOOL=77; run; echo $?",
     "venv\ninstall\n" RAN "0\n"},
    {"a_tool_that_fails_fails", "export TOOL=1; run; echo $?",
     "venv\ninstall\n" RAN "1\n"},
    {"a_list_that_is_not_there_fails", "more 2>&1; echo $?; ls build 2>&1",
     "with_wheels.sh: no list tools/more_wheels.txt; there must be one for the wheels "
     "'more'\n2\n"},
};

/* The tree: tools/ beside the working folder, build/ made by the script. */
static const char TREE[] =
    "mkdir bin tools build && cp \"$0\"/tests/tools/with_wheels.sh tools &&"
    "echo a==1 > tools/some_wheels.txt &&"
    "printf '#!/bin/sh\\necho \"ran $*\"\\nexit ${TOOL:-0}\\n' > tools/tool.py &&"
    "cat > bin/python3 <<'END' && chmod +x bin/python3\n"
    "#!/bin/sh\n"
    "case \"$*\" in\n"
    "'-m venv --clear '*)\n"
    "    echo venv\n"
    "    [ ${VENV:-0} = 0 ] || exit 1\n"
    "    rm -rf \"$4\" && mkdir -p \"$4/bin\" \"$4/packages\" && cp \"$0\" "
    "\"$4/bin/python\" ;;\n"
    "'-m pip install '*--no-deps*) echo alone; exit ${PIP:-0} ;;\n"
    "'-m pip install '*) echo install; exit ${PIP:-0} ;;\n"
    "'-c '*) echo \"${0%/bin/*}/packages\" ;;\n"
    "'-B '*) shift; exec sh \"$@\" ;;\n"
    "*) echo \"python3 $*?\"; exit 1 ;;\n"
    "esac\n"
    "END\n"
    "PATH=$PWD/bin:$PATH P=build/some-venv/packages;"
    "run() { tools/with_wheels.sh some tool.py K build/work \"$@\"; };"
    "more() { tools/with_wheels.sh more tool.py K build/work; };";

static void check_script(void **state) {
    const row *r = *state;
    const kiln_process_result got =
        kiln_test_shell(kiln_format(kiln_test_arena(), "%s\n%s\n", TREE, r->script));
    kiln_assert_text_equal(kiln_str_from(got.out.p), kiln_str_from(r->want));
}

int main(void) {
    kiln_test_add_rows(check_script, rows);
    return kiln_test_run("with_wheels");
}
