# Of a cmocka program's output: what tests said that did not pass, and what was said outside of any.
/^\[==========\]/ || /^\[  PASSED  \]/ { next }
/^\[ RUN      \] / { text = $0 "\n"; inside = 1; next }
/^\[       OK \] / || (inside && /^\[  SKIPPED \] /) { text = ""; inside = 0; next }
inside && /^\[  FAILED  \] / { printf "%s%s\n", text, $0; text = ""; inside = 0; next }
inside { text = text $0 "\n"; next }
{ print }
END { printf "%s", text }
