#!/bin/bash
# Checks the Markdown: relative links resolve, and each folder with a public header has a README.
bad=0
while IFS= read -r page; do
    folder=$(dirname "$page")
    while IFS=: read -r line link; do
        target=${link%%#*}
        [ -z "$target" ] || [ -e "$folder/$target" ] || {
            echo "$page:$line: the link '$link' leads nowhere; write it relative to $folder/"
            bad=1
        }
    done < <(grep -noE '\]\([^)]+\)' "$page" | sed -E 's/\]\((.*)\)/\1/' | grep -vE '^[0-9]+:[a-z]+:')
done < <(git ls-files --cached --others --exclude-standard -- '*.md')
while IFS= read -r header; do
    folder=$(dirname "$header")
    [ "$(basename "$folder").h" != "$(basename "$header")" ] || [ -f "$folder/README.md" ] || {
        echo "$folder: has no README.md; at most a page: what for, entry point, how to add one"
        bad=1
    }
done < <(git ls-files --cached --others --exclude-standard -- '*.h' ':!tests')
[ $bad -ne 0 ] || echo "docs: links resolve, folders have their READMEs"
exit $bad
