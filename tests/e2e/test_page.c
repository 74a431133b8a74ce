/* The page of a night of thirty jobs, in a browser: all of it on one screen, whatever
 * is wrong with it standing open; sorted, searched, walked through by keys, printed;
 * with and without its script; and what axe and the rules of WCAG that can be tried
 * say. */
#include "reports/results/results.h"
#include "tests/support/program/browser.h"
#include "tests/support/kiln_test.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define DEMO "tests/reports/demo/results.json"
enum { N_JOBS = 30, REGRESSED = 4, FAILED = 17, DISTURBED = 22, TIMES = 4 };

/* ---- a night of thirty jobs ------------------------------------------------------ */

static kiln_str text_of(const char *path) {
    kiln_str text;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &text, &err), &err);
    return text;
}

/* As many steps as networks have: the demo's, several times. */
static void add_steps(kiln_results_job *j) {
    kiln_arena *a = kiln_test_arena();
    const size_t n = j->step.n;
    const kiln_results_step *of = j->step.v;
    memset(&j->step, 0, sizeof j->step);
    for (int k = 0; k < TIMES; k++)
        for (size_t i = 0; i < n; i++) {
            kiln_results_step s = of[i];
            s.name = kiln_format(a, "features/block%d/%s", k, s.name);
            s.intensity *= 1 + 0.1 * k;
            s.gflops *= 1 - 0.07 * k;
            kiln_vec_push(a, &j->step, s);
        }
}

/* Of the demo: 0 passes, 1 regressed, 2 is a network of fourteen steps, 3 failed. */
static kiln_results_job one_job(const kiln_results *demo, int i) {
    kiln_results_job j = demo->job.v[i == REGRESSED ? 1 : i == FAILED ? 3 : 2];
    j.model = kiln_format(kiln_test_arena(), "network-%02d", i / 2);
    j.threads = 1 + i % 2;
    j.latency.median_ms = 3 + (7 * i) % N_JOBS; /* in no order */
    if (i != REGRESSED && i != FAILED) {
        j.gate = demo->job.v[0].gate; /* pass */
        j.latency.n_disturbed = i == DISTURBED ? j.latency.n_samples : 0;
    }
    add_steps(&j);
    return j;
}

static const char *thirty(void) {
    kiln_arena *a = kiln_test_arena();
    kiln_results r;
    kiln_err err = {0};
    kiln_buf out;
    kiln_assert_status_ok(kiln_results_read(a, DEMO, &r, &err), &err);
    const kiln_results demo = r;
    memset(&r.job, 0, sizeof r.job);
    for (int i = 0; i < N_JOBS; i++) {
        const kiln_results_job j = one_job(&demo, i);
        kiln_vec_push(a, &r.job, j);
    }
    kiln_results_derive(a, &r);
    kiln_buf_init(&out, a);
    kiln_results_html(&out, &r);
    const char *page = kiln_path_join(a, kiln_test_dir(), "index.html");
    kiln_assert_status_ok(kiln_file_write(page, out.p, out.n, &err), &err);
    return page;
}

/* ---- probes ------------------------------------------------------------------------
 *
 * A script each, which hands over {problems: [...]} and what else its test asks for. */

typedef struct page_row {
    const char *name;
    const char *script;
    bool is_page_without_script, is_print, is_dark;
    int width, height; /* 0: 1280, 800 */
} page_row;

#define FIND                                                                           \
    "const problems=[];const not=(ok,...what)=>ok||problems.push(what.join(' '));"
#define DONE ";done({problems:problems.slice(0,8)})"
#define WAIT "await new Promise(r=>setTimeout(r,200));"
#define OPEN_ALL "all('details').forEach(d=>d.open=true);"
#define ROWS "all('#jobs tbody tr')"
#define NAMES ROWS ".filter(r=>!r.hidden).map(r=>r.cells[0].textContent)"

/* Every job, the verdict and what needs a look, without scrolling. */
static const char one_screen[] = FIND
    "const rows=" ROWS ";not(rows.length==30,rows.length,'rows');"
    "not(rows[29].getBoundingClientRect().bottom<=innerHeight,'the last row ends at',"
    "rows[29].getBoundingClientRect().bottom);"
    "const box=document.querySelector('#jobs .scroll');"
    "not(box.scrollWidth<=box.clientWidth,'the table is cut',box.scrollWidth,"
    "box.clientWidth);"
    "const looks=all('.look>li');not(looks.length==3,looks.length,'looks');"
    "for(const e of [document.querySelector('.verdict'),...looks])"
    "not(e.getBoundingClientRect().bottom<=innerHeight,e.textContent,'is below')" DONE;

/* What went wrong is open, and nothing else; long tables are folded. */
static const char folds[] = FIND
    "const open=all('details.job[open]').map(d=>d.querySelector('.card').id);"
    "not(open.join()=='job-4,job-17','open:',open);"
    "const inside=all('details.job details[open]').map(d=>d.textContent.slice(0,20));"
    "not(inside.length==1&&inside[0].trim().startsWith('Stages'),'inside:',inside);"
    "not(document.documentElement.scrollHeight<9000,'the page is',"
    "document.documentElement.scrollHeight,'high')" DONE;

/* Steps fit a desk; what is wider scrolls in a box that keys and readers find. */
static const char boxes[] = FIND OPEN_ALL
    "for(const b of all('.scroll')){"
    "const cut=b.scrollWidth>b.clientWidth+1;"
    "not(!cut||innerWidth<1280||!b.querySelector('.of-steps,.jobs'),'cut:',"
    "b.textContent.slice(0,30),b.scrollWidth,b.clientWidth);"
    "not(b.tabIndex==0&&b.getAttribute('role')=='region','no box');"
    "const ids=b.getAttribute('aria-labelledby').split(' ');"
    "not(ids.every(i=>document.getElementById(i)?.textContent.trim()),ids,'name it');"
    "not(getComputedStyle(b).overflowX=='auto','does not scroll')}"
    "for(const t of all('table'))not(t.closest('.scroll'),'a table without a box');"
    "not(document.documentElement.scrollWidth<=innerWidth,'the page is cut')" DONE;

/* Some of axe's rules, of our own: they are tried where there is no axe, too. */
static const char rules[] = FIND OPEN_ALL
    "let level=0;for(const h of all('h1,h2,h3,h4,h5,h6')){const l=+h.tagName[1];"
    "not(l<=level+1,h.textContent,'is',l,'behind',level);level=l}"
    "not(all('h1').length==1&&all('main').length==1,'one h1, one main');"
    "const name=e=>e.getAttribute('aria-label')||e.getAttribute('aria-labelledby')"
    "?.split(' ').map(i=>document.getElementById(i)?.textContent).join(' ')||'';"
    "const seen=new Set();for(const e of all('[role=region],nav')){"
    "const n=e.tagName+name(e);not(name(e).trim(),'no name');"
    "not(!seen.has(n),n,'twice');seen.add(n)}"
    "for(const h of all('th'))not(h.textContent.trim(),'an empty head in',"
    "h.closest('table').caption.textContent);"
    "const ids=all('[id]').map(e=>e.id);not(new Set(ids).size==ids.length,'ids twice');"
    "for(const s of all('svg:not(svg svg)'))not(s.ariaHidden=='true'||name(s),'an "
    "svg');"
    "for(const e of all('input'))not(e.labels.length,'an input');"
    "for(const e of all('a,button,summary'))not(e.textContent.trim(),'no text');"
    "for(const s of all('summary'))not(!s.querySelector('a,button'),'a link in a "
    "fold');"
    "for(const a of all('a[href^=\"#\"]'))"
    "not(document.getElementById(a.hash.slice(1)),a.hash,'leads nowhere');"
    "not(all('[tabindex]').every(e=>e.tabIndex==0),'an order of its own')" DONE;

static const char labels[] = FIND OPEN_ALL
    "const plots=all('.roofline svg[role=img]');not(plots.length>=28,plots.length);"
    "let n=0;for(const p of plots)for(const t of all('text.label',p)){n++;"
    "const b=t.getBBox();for(const c of all('.spots circle',p)){"
    "const x=+c.getAttribute('cx'),y=+c.getAttribute('cy');"
    "const dx=Math.max(b.x-x,0,x-b.x-b.width),dy=Math.max(b.y+3-y,0,y-b.y-b.height+3);"
    "not(Math.hypot(dx,dy)>=+c.getAttribute('r')-.5,t.textContent,'covers',"
    "c.textContent)}}not(n>100,n,'letters')" DONE;

static const char sorts[] = FIND
    "const heads=all('#jobs thead th'),at=heads.findIndex(h=>/median/.test("
    "h.textContent));const ms=()=>" ROWS
    ".map(r=>parseFloat(r.dataset.at&&r.querySelector('[data-path$=median_ms]')"
    "?.textContent));const rises=v=>v.every((x,i)=>!i||isNaN(x)||x>=v[i-1]);"
    "const first=ms(),b=heads[at].querySelector('button');"
    "not(!rises(first),'in order before');b.click();"
    "not(rises(ms()),'up:',ms());"
    "not(isNaN(ms()[29]),'what was not measured is not last');"
    "not(heads[at].ariaSort=='ascending','aria-sort');b.click();"
    "not(rises(ms().slice(0,29).reverse())&&isNaN(ms()[29]),'down:',ms());"
    "not(heads[at].ariaSort=='descending','aria-sort');b.click();"
    "not(ms().join()==first.join()&&!heads[at].ariaSort,'as it was');"
    "heads[1].querySelector('button').click();"
    "not(" NAMES ".slice(0,3).join().match(/02.*08.*11/),'worst first:'," NAMES
    ".slice(0,3));"
    "const steps=document.querySelector('.of-steps'),t=steps.tHead.rows[0].cells[2];"
    "t.querySelector('button').click();"
    "not(rises([...steps.tBodies[0].rows].map(r=>parseFloat(r.cells[2].textContent"
    ".replace(/\\u202f/g,'')))),'steps')" DONE;

static const char searches[] =
    FIND "const search=document.querySelector('input[type=search]'),"
         "only=document.querySelector('input[type=checkbox]'),"
         "shown=document.querySelector('#jobs output');"
         "const type=t=>{search.value=t;search.dispatchEvent(new Event('input'))};"
         "type('network-07');not(" NAMES ".length==2," NAMES ");"
         "not(shown.value=='2 of 30 jobs',shown.value);"
         "type('2 THREADS network-07');not(" NAMES ".length==1," NAMES ");"
         "type('no such job');not(" NAMES ".length==0," NAMES ");type('');"
         "not(" NAMES ".length==30&&!shown.value,shown.value);only.click();"
         "not(" NAMES ".length==3," NAMES ")" DONE;

/* From the table to a job to its steps, with what a keyboard has: links and folds that
 * have the focus are pressed by Enter, which is a click. */
static const char by_keys[] = FIND
    "const link=document.querySelector('a[href=\"#job-9\"]');link.focus();"
    "not(document.activeElement==link,'a job is no stop');link.click();" WAIT
    "const fold=document.getElementById('job-9').closest('details');"
    "not(fold.open,'the job is closed');"
    "const line=fold.querySelector('summary');"
    "not(document.activeElement==line,'focus:',document.activeElement.outerHTML);"
    "const r=line.getBoundingClientRect();"
    "not(r.top>=0&&r.bottom<=innerHeight,'out of sight',r.top);"
    "const steps=fold.querySelector('details.steps>summary');steps.focus();"
    "not(document.activeElement==steps,'steps are no stop');steps.click();"
    "const box=fold.querySelector('.steps .scroll');box.focus();"
    "not(document.activeElement==box,'the table is no stop');"
    "const order=all('a[href],button,input,summary,[tabindex]').filter("
    "e=>e.checkVisibility());const place=e=>order.indexOf(e);"
    "not(place(link)<place(line)&&place(line)<place(steps)&&place(steps)<place(box),"
    "'order');all('.folds .tools button')[0].click();"
    "not(all('#each details.job').every(d=>d.open),'open all');"
    "all('.folds .tools button')[1].click();"
    "not(!all('#each details.job[open]').length,'close all')" DONE;

/* Nothing that does nothing; links still open what they lead to. */
static const char plain[] =
    FIND "not(!all('button,input,output').length,'a dead button');"
         "not(" ROWS ".length==30,'rows');"
         "const fold=document.getElementById('job-9').closest('details');"
         "not(!fold.open,'open before');"
         "document.querySelector('a[href=\"#job-9\"]').click();" WAIT
         "not(fold.open,'a link into a fold opens it');"
         "not(all('#jobs thead th').every(h=>h.textContent.trim()),'heads')" DONE;

static const char prints[] =
    FIND "const closed=()=>all('details:not([open])').length,before=closed();"
         "not(before>100,before);dispatchEvent(new Event('beforeprint'));"
         "not(closed()==0,'closed in print',closed());"
         "dispatchEvent(new Event('afterprint'));"
         "not(closed()==before,'closed behind it',closed())" DONE;

/* At the width of A4 between its margins: no table is wider than the paper. */
static const char on_paper[] =
    FIND "dispatchEvent(new Event('beforeprint'));"
         "for(const t of all('table,svg,pre'))not(t.getBoundingClientRect().right<="
         "innerWidth+1,t.className||t.tagName,t.textContent.slice(0,40),"
         "t.getBoundingClientRect().right);"
         "not(!all('button,input,nav').some(e=>e.checkVisibility()&&!e.closest('th')),"
         "'something to press')" DONE;

static page_row rows[] = {
    {"thirty_jobs_are_one_screen", .script = one_screen},
    {"thirty_jobs_are_one_screen_in_the_dark", .script = one_screen, .is_dark = true},
    {"what_went_wrong_is_open", .script = folds},
    {"boxes_on_a_phone", .script = boxes, .width = 390, .is_dark = true},
    {"boxes_on_a_desk", .script = boxes},
    {"boxes_on_a_wide_desk", .script = boxes, .width = 1920, .height = 1080},
    {"rules_of_the_trade", .script = rules},
    {"rules_without_the_script", .script = rules, .is_page_without_script = true},
    {"letters_cover_no_spot", .script = labels},
    {"tables_are_sorted", .script = sorts},
    {"jobs_are_searched", .script = searches},
    {"keys_lead_through_it", .script = by_keys},
    {"it_works_without_the_script", .script = plain, .is_page_without_script = true},
    {"paper_is_wide_enough", .script = on_paper, .is_print = true, .width = 718},
    {"folds_are_open_in_print", .script = prints},
};

static void assert_no_problem(const kiln_json *found) {
    const kiln_json *list = kiln_json_get(found, "problems");
    kiln_buf all;
    kiln_buf_init(&all, kiln_test_arena());
    assert_non_null(list);
    for (const kiln_json *v = kiln_json_first(list); v != NULL; v = kiln_json_next(v))
        kiln_buf_printf(&all, "%s\n", kiln_json_string(v, "?"));
    if (all.n > 0)
        fail_msg("%s", all.p);
}

static void check_row(void **state) {
    const page_row *r = *state;
    const kiln_test_probe probe = {.script = r->script,
                                   .is_page_without_script = r->is_page_without_script,
                                   .is_print = r->is_print};
    const kiln_test_window w = {r->width != 0 ? r->width : 1280,
                                r->height != 0 ? r->height : 800, r->is_dark};
    assert_no_problem(kiln_test_probe_page(thirty(), &probe, w));
}

/* ---- the page as it is ----------------------------------------------------------- */

/* The policy lets the script run, which nobody but the browser can say. */
static void the_script_runs_under_the_policy(void **state) {
    (void)state;
    const char *page = thirty();
    const kiln_process_result r =
        kiln_test_browse(page, "--dump-dom", (kiln_test_window){1280, 800, false});
    assert_null(strstr(r.err.p, "CONSOLE"));
    assert_non_null(strstr(r.out.p, "<button type=\"button\">Open all</button>"));
    assert_null(strstr(text_of(page).p, "<button"));
}

static void thirty_jobs_are_small(void **state) {
    (void)state;
    assert_in_range(text_of(thirty()).n, 500000, 1700000);
}

/* Pages: "/Type /Page", behind which no "s" comes. */
static size_t n_pages(kiln_str pdf) {
    static const char mark[] = "/Type /Page";
    size_t n = 0;
    for (size_t i = 0; i + sizeof mark <= pdf.n; i++)
        n += memcmp(pdf.p + i, mark, sizeof mark - 1) == 0 &&
             pdf.p[i + sizeof mark - 1] != 's';
    return n;
}

/* Folds are open on paper: thirty jobs with their steps are more than a page each. */
static void it_is_printed_with_all_folds_open(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *page = thirty();
    const char *pdf = kiln_path_join(a, kiln_test_dir(), "page.pdf");
    (void)kiln_test_browse(page, kiln_format(a, "--print-to-pdf=%s", pdf),
                           (kiln_test_window){1280, 800, false});
    assert_in_range(n_pages(text_of(pdf)), 2 * N_JOBS, 12 * N_JOBS);
}

/* ---- axe ---------------------------------------------------------------------------
 *
 * `make test-page` brings it. */

static const char *axe(void) {
    glob_t found;
    kiln_str text = {"", 0};
    if (glob("build/page-venv/lib/python3*/site-packages/axe_playwright_python/"
             "axe.min.js",
             0, NULL, &found) == 0)
        text = text_of(found.gl_pathv[0]);
    globfree(&found);
    if (text.n == 0)
        kiln_test_skip("axe is not here: 'make test-page' brings it");
    return kiln_str_dupv(kiln_test_arena(), text);
}

static const char ask_axe[] =
    "const r=await axe.run();"
    "done({passes:r.passes.length,problems:r.violations.map(v=>`${v.id} in "
    "${v.nodes.length}: ${v.nodes[0].html.slice(0,200)}`)})";

typedef struct axe_row {
    const char *name;
    bool is_open, is_dark;
    int width;
    const char *results; /* NULL: thirty jobs */
} axe_row;

static axe_row axe_rows[] = {
    {"axe_finds_nothing", false, false, 1280, NULL},
    {"axe_finds_nothing_on_a_phone_in_the_dark", false, true, 390, NULL},
    {"axe_finds_nothing_in_the_demo", true, false, 1280, DEMO},
    {"axe_finds_nothing_in_the_demo_in_the_dark", true, true, 1920, DEMO},
    {"axe_finds_nothing_in_nights", true, false, 1280,
     "tests/reports/demo/nights.json"},
};

static const char *page_of(const char *results) {
    kiln_arena *a = kiln_test_arena();
    kiln_results r;
    kiln_err err = {0};
    kiln_buf out;
    if (results == NULL)
        return thirty();
    kiln_assert_status_ok(kiln_results_read(a, results, &r, &err), &err);
    kiln_buf_init(&out, a);
    kiln_results_html(&out, &r);
    const char *page = kiln_path_join(a, kiln_test_dir(), "index.html");
    kiln_assert_status_ok(kiln_file_write(page, out.p, out.n, &err), &err);
    return page;
}

static void check_axe(void **state) {
    const axe_row *r = *state;
    const char *library = axe();
    const kiln_test_probe p = {.before = library,
                               .script =
                                   kiln_format(kiln_test_arena(), "%s%s",
                                               r->is_open ? OPEN_ALL : "", ask_axe)};
    const kiln_json *found = kiln_test_probe_page(
        page_of(r->results), &p, (kiln_test_window){r->width, 1000, r->is_dark});
    assert_true(kiln_json_number(kiln_json_get(found, "passes"), 0) > 15);
    assert_no_problem(found);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("the_script_runs_under_the_policy", the_script_runs_under_the_policy,
                  NULL);
    kiln_test_add("thirty_jobs_are_small", thirty_jobs_are_small, NULL);
    kiln_test_add("it_is_printed_with_all_folds_open",
                  it_is_printed_with_all_folds_open, NULL);
    kiln_test_add_rows(check_axe, axe_rows);
    return kiln_test_run("page");
}
