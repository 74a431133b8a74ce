// The page's script: the jobs' table can be sorted and searched, folds open all at once,
// for a link into them and for print. Nothing is lost without it: it makes the buttons
// that it serves.
addEventListener('DOMContentLoaded', () => {
  const all = (what, of = document) => [...of.querySelectorAll(what)];
  const make = (tag, text, of, rest) => {
    const e = Object.assign(document.createElement(tag), rest);
    e.append(text);
    of.append(e);
    return e;
  };
  const button = (text, of, onclick) =>
    make('button', text, of, {type: 'button', onclick});

  // Jobs and lists of operators: all open, all closed.
  for (const section of all('.folds')) {
    const bar = make('div', '', section, {className: 'tools'});
    section.querySelector('h2').after(bar);
    const set = open => all('details.job', section).forEach(d => d.open = open);
    button('Open all', bar, () => set(true));
    button('Close all', bar, () => set(false));
  }

  // A link into a fold opens it.
  const reveal = () => {
    const at = document.getElementById(location.hash.slice(1));
    const fold = at && at.closest('details');
    if (!fold) return;
    fold.open = true;
    fold.querySelector('summary').focus({preventScroll: true});
    fold.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  reveal();

  // On paper nothing can be opened.
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = all('details:not([open])');
    closed.forEach(d => d.open = true);
  });
  addEventListener('afterprint', () => closed.forEach(d => d.open = false));

  // Tables by a column, both ways, then as they were. What has no number there
  // comes last.
  const number = text =>
    parseFloat(text.replace('\u2212', '-').replace(/\u202f/g, ''));
  const cell = (row, i) => {
    let at = 0;
    for (const c of row.cells)
      if ((at += c.colSpan) > i) return c;
  };
  const text = (row, i) =>
    cell(row, i).dataset.sort ?? cell(row, i).textContent;
  const byNumber = (i, way) => (a, b) => {
    const x = number(text(a, i)), y = number(text(b, i));
    return isNaN(x) - isNaN(y) || way * (x - y) || 0;
  };
  const byText = (i, way) => (a, b) =>
    way * text(a, i).localeCompare(text(b, i), 'en', {numeric: true});
  for (const table of all('.jobs, .of-steps, .of-work, .of-ops')) {
    const rows = [...table.tBodies[0].rows], heads = all('thead th', table);
    heads.forEach((head, i) => {
      const by = head.classList.contains('n') ? byNumber : byText;
      const inside = [...head.childNodes];
      button('', head, () => {
        const was = head.getAttribute('aria-sort');
        heads.forEach(h => h.removeAttribute('aria-sort'));
        const way = !was ? 1 : was == 'ascending' ? -1 : 0;
        const word = way > 0 ? 'ascending' : 'descending';
        if (way) head.setAttribute('aria-sort', word);
        const sorted = way ? [...rows].sort(by(i, way)) : rows;
        table.tBodies[0].append(...sorted);
      }).append(...inside);
    });
  }

  // Which jobs are shown.
  const jobs = document.getElementById('jobs');
  if (!jobs) return;
  const rows = all('tbody tr', jobs);
  const bar = make('div', '', jobs, {className: 'tools'});
  jobs.querySelector('h2').after(bar);
  const shown = make('output', '', bar);
  const label = make('label', 'Search jobs ', bar);
  const search = make('input', '', label, {type: 'search'});
  const which = make('label', '', bar);
  const only = make('input', '', which, {type: 'checkbox'});
  which.append(' only what needs a look');
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const has = row.textContent.toLowerCase();
      row.hidden = !words.every(w => has.includes(w)) ||
        (only.checked && !row.className);
    }
    const n = rows.filter(r => !r.hidden).length;
    shown.value = n == rows.length ? '' : `${n} of ${rows.length} jobs`;
  };
  search.oninput = only.onchange = filter;
  filter();
});
