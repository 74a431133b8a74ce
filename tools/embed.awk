# A text as an array of its lines, for C: awk -v path=reports/page/page.css -f embed.awk reports/page/page.css
# defines `const char *const kiln_reports_page_page_css[]`, NULL at the end. Lines are pieces, as C
# promises strings of 4095 characters and no more (C17, 5.2.4.1).
BEGIN {
    name = "kiln_" path
    gsub(/[^A-Za-z0-9]/, "_", name)
    printf "/* Made from %s. */\n#include <stddef.h>\n\n", path
    printf "extern const char *const %s[];\nconst char *const %s[] = {\n", name, name
}
{
    gsub(/["?\\]/, "\\\\&")
    printf "    \"%s\\n\",\n", $0
}
END { print "    NULL,\n};" }
