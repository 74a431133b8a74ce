/* The page's script: the jobs' table can be sorted and searched, folds open all at
 * once, for a link into them and for print. Nothing is lost without it: it makes the
 * buttons that it serves. Nothing of the results is in it, and the page's policy lets
 * it run by its hash (Content Security Policy Level 3, 2.3.1), so that no name can
 * become one. */
#include "reports/html_page.h"

#include <string.h>

const char *const kiln_page_script[] = {
    "addEventListener('DOMContentLoaded', () => {\n"
    "  const all = (what, of = document) => [...of.querySelectorAll(what)];\n"
    "  const make = (tag, text, of, rest) => {\n"
    "    const e = Object.assign(document.createElement(tag), rest);\n"
    "    e.append(text);\n"
    "    of.append(e);\n"
    "    return e;\n"
    "  };\n"
    "  const button = (text, of, onclick) =>\n"
    "    make('button', text, of, {type: 'button', onclick});\n",

    "\n"
    "  // Jobs and lists of operators: all open, all closed.\n"
    "  for (const section of all('.folds')) {\n"
    "    const bar = make('div', '', section, {className: 'tools'});\n"
    "    section.querySelector('h2').after(bar);\n"
    "    const set = open => all('details.job', section).forEach(d => d.open = open);\n"
    "    button('Open all', bar, () => set(true));\n"
    "    button('Close all', bar, () => set(false));\n"
    "  }\n"
    "\n"
    "  // A link into a fold opens it.\n"
    "  const reveal = () => {\n"
    "    const at = document.getElementById(location.hash.slice(1));\n"
    "    const fold = at && at.closest('details');\n"
    "    if (!fold) return;\n"
    "    fold.open = true;\n"
    "    fold.querySelector('summary').focus({preventScroll: true});\n"
    "    fold.scrollIntoView();\n"
    "  };\n"
    "  addEventListener('hashchange', reveal);\n"
    "  reveal();\n"
    "\n"
    "  // On paper nothing can be opened.\n"
    "  let closed = [];\n"
    "  addEventListener('beforeprint', () => {\n"
    "    closed = all('details:not([open])');\n"
    "    closed.forEach(d => d.open = true);\n"
    "  });\n"
    "  addEventListener('afterprint', () => closed.forEach(d => d.open = false));\n",

    "\n"
    "  // Tables by a column, both ways, then as they were. What has no number there\n"
    "  // comes last.\n"
    "  const number = text =>\n"
    "    parseFloat(text.replace('\\u2212', '-').replace(/\\u202f/g, ''));\n"
    "  const cell = (row, i) => {\n"
    "    let at = 0;\n"
    "    for (const c of row.cells)\n"
    "      if ((at += c.colSpan) > i) return c;\n"
    "  };\n"
    "  const text = (row, i) =>\n"
    "    cell(row, i).dataset.sort ?? cell(row, i).textContent;\n"
    "  const byNumber = (i, way) => (a, b) => {\n"
    "    const x = number(text(a, i)), y = number(text(b, i));\n"
    "    return isNaN(x) - isNaN(y) || way * (x - y) || 0;\n"
    "  };\n"
    "  const byText = (i, way) => (a, b) =>\n"
    "    way * text(a, i).localeCompare(text(b, i), 'en', {numeric: true});\n"
    "  for (const table of all('.jobs, .of-steps, .of-work, .of-ops')) {\n"
    "    const rows = [...table.tBodies[0].rows], heads = all('thead th', table);\n"
    "    heads.forEach((head, i) => {\n"
    "      const by = head.classList.contains('n') ? byNumber : byText;\n"
    "      const inside = [...head.childNodes];\n"
    "      button('', head, () => {\n"
    "        const was = head.getAttribute('aria-sort');\n"
    "        heads.forEach(h => h.removeAttribute('aria-sort'));\n"
    "        const way = !was ? 1 : was == 'ascending' ? -1 : 0;\n"
    "        const word = way > 0 ? 'ascending' : 'descending';\n"
    "        if (way) head.setAttribute('aria-sort', word);\n"
    "        const sorted = way ? [...rows].sort(by(i, way)) : rows;\n"
    "        table.tBodies[0].append(...sorted);\n"
    "      }).append(...inside);\n"
    "    });\n"
    "  }\n",

    "\n"
    "  // Which jobs are shown.\n"
    "  const jobs = document.getElementById('jobs');\n"
    "  if (!jobs) return;\n"
    "  const rows = all('tbody tr', jobs);\n"
    "  const bar = make('div', '', jobs, {className: 'tools'});\n"
    "  jobs.querySelector('h2').after(bar);\n"
    "  const shown = make('output', '', bar);\n"
    "  const label = make('label', 'Search jobs ', bar);\n"
    "  const search = make('input', '', label, {type: 'search'});\n"
    "  const which = make('label', '', bar);\n"
    "  const only = make('input', '', which, {type: 'checkbox'});\n"
    "  which.append(' only what needs a look');\n"
    "  const filter = () => {\n"
    "    const words = search.value.toLowerCase().split(/\\s+/);\n"
    "    for (const row of rows) {\n"
    "      const has = row.textContent.toLowerCase();\n"
    "      row.hidden = !words.every(w => has.includes(w)) ||\n"
    "        (only.checked && !row.className);\n"
    "    }\n"
    "    const n = rows.filter(r => !r.hidden).length;\n"
    "    shown.value = n == rows.length ? '' : `${n} of ${rows.length} jobs`;\n"
    "  };\n"
    "  search.oninput = only.onchange = filter;\n"
    "  filter();\n"
    "});\n",
    NULL,
};

/* RFC 4648, 4: of the hexadecimal digits of whole bytes. */
static void put_base64(kiln_page *p, const char *hex) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char hex_digits[] = "0123456789abcdef";
    unsigned bits = 0, n_bits = 0, n = 0;
    for (; *hex != '\0'; hex++) {
        bits = bits << 4 | (unsigned)(strchr(hex_digits, *hex) - hex_digits);
        n_bits += 4;
        if (n_bits >= 6) {
            n_bits -= 6;
            kiln_page_putf(p, "%c", digits[bits >> n_bits & 63]);
            n++;
        }
    }
    if (n_bits > 0) {
        kiln_page_putf(p, "%c", digits[bits << (6 - n_bits) & 63]);
        n++;
    }
    for (; n % 4 != 0; n++)
        kiln_page_put(p, "=");
}

void kiln_page_script_hash(kiln_page *p) {
    kiln_sha256 h;
    char hex[KILN_SHA256_HEX];
    kiln_sha256_init(&h);
    for (size_t i = 0; kiln_page_script[i] != NULL; i++)
        kiln_sha256_add(&h, kiln_page_script[i], strlen(kiln_page_script[i]));
    kiln_sha256_hex(&h, hex);
    put_base64(p, hex);
}
