# For programs that read C files: -f tools/code_of.awk before their own.

# Blanks comments, strings and characters of a line. in_comment lives from line to line: 0 where a
# file begins.
function code_of(s,    out, c, two, i, quote) {
    out = ""
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        two = substr(s, i, 2)
        if (in_comment) {
            if (two == "*/") { in_comment = 0; i++ }
        } else if (quote != "") {
            if (c == "\\") i++
            else if (c == quote) quote = ""
        } else if (two == "/*") { in_comment = 1; i++ }
        else if (two == "//") break
        else if (c == "\"" || c == "'") { quote = c; out = out c }
        else out = out c
    }
    return out
}
