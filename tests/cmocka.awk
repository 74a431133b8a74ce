# Adds up one cmocka program's output: prints "PASSED FAILED SKIPPED [REASON]".
#   -v rc=EXIT_CODE -v limit=SECONDS
# A test that failed in its setup has a RUN line and no verdict; a crash leaves tests that were
# announced and never run. Both are found by counting, not by looking for words.
/^\[==========\] .*Running [0-9]+ test\(s\)/ {
    for (i = 1; i < NF; i++) if ($i == "Running") announced += $(i + 1)
}
/^\[ RUN      \] / { run++ }
/^\[       OK \] / { passed++ }
/^\[  SKIPPED \] [0-9]+ test\(s\), listed below/ { skipped += $4 }
END {
    failed = run - passed - skipped
    missing = announced - run
    reason = ""
    if (rc == 124 || rc == 137) reason = "killed: ran longer than " limit " s"
    else if (rc >= 128) reason = "ended by signal " (rc - 128)
    else if (announced == 0) reason = rc ? "exit code " rc " before any test" : "ran no tests"
    else if (missing > 0) reason = missing " of " announced " announced tests never ran, exit code " rc
    else if (rc != 0 && failed == 0) reason = "exit code " rc " though every test passed"
    if (missing > 0) failed += missing
    if (reason != "" && failed == 0) failed = 1
    printf "%d %d %d%s\n", passed, failed, skipped, reason == "" ? "" : " " reason
}
