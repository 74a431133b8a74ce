# Of a cmocka program's output: "PROGRAM: TEST<tab>REASON" of each test that was skipped.
#   -v program=NAME
/^\[ RUN      \] / { inside = 1; reason = "it does not say why" }
/^\[       OK \] / || /^\[  FAILED  \] / { inside = 0 }
inside && /^skipped: / { reason = substr($0, 10) }
inside && /^\[  SKIPPED \] / {
    sub(/^\[  SKIPPED \] /, "")
    gsub(/\t/, " ", reason)
    printf "%s: %s\t%s\n", program, $0, reason
    inside = 0
}
