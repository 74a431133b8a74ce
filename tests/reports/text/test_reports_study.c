/* A study's page and CSV: each number of the page is the member that it names, nothing that
 * a name holds becomes markup, what was not measured has a word, equal data gives equal
 * bytes. */
#include "reports/results/reports_study.h"
#include "tests/support/kiln_test.h"

#include <stdlib.h>
#include <string.h>

static kiln_doc_study_row measured(const char *way, int threads, double ms,
                                   double gain) {
    return (kiln_doc_study_row){.group = "net, <b>",
                                .model = "net",
                                .way = way,
                                .threads = threads,
                                .state = "measured",
                                .n_samples = 30,
                                .n_disturbed = 2,
                                .ms = {ms, 0.9 * ms, 1.1 * ms},
                                .q1_ms = 0.95 * ms,
                                .q3_ms = 1.05 * ms,
                                .gain = {gain, 0.9 * gain, 1.1 * gain},
                                .steps = 7,
                                .conversions = 1};
}

static void make(kiln_doc_study *s) {
    kiln_arena *a = kiln_test_arena();
    kiln_doc_study_part part = {.name = "steps",
                                .title = "Steps & more",
                                .source = "a paper",
                                .shape = "faster",
                                .has_curve = true};
    kiln_doc_study_row row = measured("plain", 1, 8, 1);
    *s = (kiln_doc_study){.own = {.kiln = "1.2", .build = "gcc"},
                          .study = "neocpu",
                          .machine = {.cpu = "A \"CPU\"", .os = "Linux", .cores = 2},
                          .profile = "native",
                          .rounds = 30};
    kiln_vec_push(a, &part.note, "net: 1, 5.34 times");
    kiln_vec_push(a, &part.row, row);
    row = measured("plain", 2, 2, 4);
    row.published = 5.34;
    kiln_vec_push(a, &part.row, row);
    row = (kiln_doc_study_row){.group = "net, <b>",
                               .model = "net",
                               .way = "onnxruntime",
                               .threads = 2,
                               .state = "absent",
                               .problem = "not here, \"install\" it"};
    kiln_vec_push(a, &part.row, row);
    kiln_vec_push(a, &s->part, part);
}

static const char *page_of(const kiln_doc_study *s) {
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_doc_study_html(&out, s);
    return out.p;
}

/* ---- the page -------------------------------------------------------------------- */

static void every_number_is_its_member(void **state) {
    static const char mark[] = "data-path=\"";
    (void)state;
    kiln_doc_study s;
    kiln_buf json;
    kiln_err err = {0};
    const kiln_json *doc = NULL;
    int n_numbers = 0;
    make(&s);
    kiln_buf_init(&json, kiln_test_arena());
    kiln_record_write(&json, &kiln_study_document, &s);
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_buf_str(&json), "study", &doc, &err),
        &err);
    for (const char *at = page_of(&s); (at = strstr(at, mark)) != NULL;) {
        at += sizeof mark - 1;
        const char *path =
            kiln_str_dupv(kiln_test_arena(), (kiln_str){at, strcspn(at, "\"")});
        const kiln_json *v = kiln_test_json_at(doc, path);
        const char *text = strchr(at, '>') + 1;
        if (v == NULL)
            fail_msg("the page names %s, which is nowhere", path);
        if (!kiln_json_is_number(v))
            continue;
        n_numbers++;
        const double shown = strtod(text, NULL), want = kiln_json_number(v, 0);
        if (shown < 0.99 * want - 0.005 || shown > 1.01 * want + 0.005)
            fail_msg("%s is %g, the page shows %.20s", path, want, text);
    }
    assert_true(n_numbers > 20);
}

static void the_page_says_all_of_it(void **state) {
    (void)state;
    kiln_doc_study s;
    make(&s);
    const char *page = page_of(&s);
    assert_string_equal(page, page_of(&s));
    assert_non_null(strstr(page, "Steps &amp; more"));
    assert_non_null(strstr(page, "net, &lt;b&gt;"));
    assert_null(strstr(page, "net, <b>"));
    assert_non_null(strstr(page, "not here, &quot;install&quot; it"));
    assert_non_null(strstr(page, "net: 1, 5.34 times"));
    assert_non_null(strstr(page, "<polyline class=\"line w0\""));
    assert_non_null(strstr(page, "<polyline class=\"ideal\""));
    assert_non_null(strstr(page, "class=\"off\"")); /* the paper's */
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "nan"));
    assert_null(strstr(page, "interrupted"));
    s.is_interrupted = true;
    assert_non_null(strstr(page_of(&s), "interrupted"));
}

/* ---- CSV, text, verdict ---------------------------------------------------------- */

static void rows_are_lines(void **state) {
    static const char want[] =
        "study,part,group,model,way,threads,state,version,file,problem,choice,samples,"
        "disturbed,ms,ms_low,ms_high,q1_ms,q3_ms,gain,gain_low,gain_high,published,"
        "steps,"
        "conversions\r\n"
        "neocpu,steps,\"net, "
        "<b>\",net,plain,1,measured,,,,,30,2,8,7.2,8.8,7.6,8.4,1,0.9,"
        "1.1,,7,1\r\n"
        "neocpu,steps,\"net, "
        "<b>\",net,plain,2,measured,,,,,30,2,2,1.8,2.2,1.9,2.1,4,3.6,"
        "4.4,5.34,7,1\r\n"
        "neocpu,steps,\"net, <b>\",net,onnxruntime,2,absent,,,\"not here, "
        "\"\"install\"\" "
        "it\",,0,0,,,,,,,,,,0,0\r\n";
    (void)state;
    kiln_doc_study s;
    kiln_buf out;
    make(&s);
    for (size_t i = 0; i < 2; i++) { /* as they are written by hand */
        kiln_doc_study_row *r = &s.part.v[0].row.v[i];
        const double ms = r->ms.estimate;
        r->ms = i == 0 ? (kiln_stats_interval){ms, 7.2, 8.8}
                       : (kiln_stats_interval){ms, 1.8, 2.2};
        r->gain = i == 0 ? (kiln_stats_interval){1, 0.9, 1.1}
                         : (kiln_stats_interval){4, 3.6, 4.4};
        r->q1_ms = i == 0 ? 7.6 : 1.9;
        r->q3_ms = i == 0 ? 8.4 : 2.1;
    }
    kiln_buf_init(&out, kiln_test_arena());
    kiln_doc_study_csv(&out, &s);
    kiln_assert_text_equal(kiln_buf_str(&out), kiln_str_from(want));
}

static void the_text_has_every_row(void **state) {
    (void)state;
    kiln_doc_study s;
    kiln_buf out;
    make(&s);
    kiln_buf_init(&out, kiln_test_arena());
    kiln_doc_study_text(&out, &s);
    assert_non_null(strstr(out.p, "Steps & more (a paper)"));
    assert_non_null(strstr(out.p, "4.00 (3.60 to 4.40), paper 5.34"));
    assert_non_null(strstr(out.p, "absent: not here, \"install\" it"));
    assert_non_null(strstr(out.p, "[7 steps, 1 conversion]"));
}

static void absent_is_no_failure_and_wrong_is(void **state) {
    (void)state;
    kiln_doc_study s;
    make(&s);
    assert_true(kiln_doc_study_is_good(&s));
    s.part.v[0].row.v[2].state = "wrong";
    assert_false(kiln_doc_study_is_good(&s));
    s.part.v[0].row.v[2].state = "failed";
    assert_false(kiln_doc_study_is_good(&s));
}

int main(void) {
    static const struct CMUnitTest unit[] = {
        cmocka_unit_test(every_number_is_its_member),
        cmocka_unit_test(the_page_says_all_of_it),
        cmocka_unit_test(rows_are_lines),
        cmocka_unit_test(the_text_has_every_row),
        cmocka_unit_test(absent_is_no_failure_and_wrong_is),
    };
    kiln_test_add_tests(unit);
    return kiln_test_run("study");
}
