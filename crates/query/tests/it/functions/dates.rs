//! Functions of dates and times.

use crate::harness::{check, check_calls};

#[test]
fn adding_to_dates() {
    check_calls(
        "DateTimeAdd",
        &[
            (r#""mm",1,"2020-07-09T23:20:13.4575530Z""#, r#""2020-08-09T23:20:13.4575530Z""#),
            (r#""hh",-2,"2020-07-09T23:20:13.4575530Z""#, r#""2020-07-09T21:20:13.4575530Z""#),
            (r#""month",1,"2020-01-31T00:00:00Z""#, r#""2020-02-29T00:00:00.0000000Z""#),
            (r#""m",-1,"2021-03-31T00:00:00Z""#, r#""2021-02-28T00:00:00.0000000Z""#),
            (r#""yy",1,"2020-02-29T00:00:00Z""#, r#""2021-02-28T00:00:00.0000000Z""#),
            (r#""d",-1,"1970-01-01T00:00:00Z""#, r#""1969-12-31T00:00:00.0000000Z""#),
            (r#""mi",90,"2020-01-01T00:00:00.123Z""#, r#""2020-01-01T01:30:00.1230000Z""#),
            (r#""SS",1,"2020-12-31T23:59:59Z""#, r#""2021-01-01T00:00:00.0000000Z""#),
            (r#""ms",1,"2020-01-01T00:00:00Z""#, r#""2020-01-01T00:00:00.0010000Z""#),
            (r#""mcs",1,"2020-01-01T00:00:00Z""#, r#""2020-01-01T00:00:00.0000010Z""#),
            (r#""ns",250,"2020-01-01T00:00:00Z""#, r#""2020-01-01T00:00:00.0000002Z""#),
            (r#""week",1,"2020-01-01T00:00:00Z""#, "undefined"),
            (r#""d",1.5,"2020-01-01T00:00:00Z""#, "undefined"),
            (r#""d","1","2020-01-01T00:00:00Z""#, "undefined"),
            (r#""d",1,"2020-02-30T00:00:00Z""#, "undefined"),
            (r#""d",1,"9999-12-31T00:00:00Z""#, "undefined"),
            (r#""yy",1e15,"2020-01-01T00:00:00Z""#, "undefined"),
            (r#""d",9e18,"2020-01-01T00:00:00Z""#, "undefined"),
            (r#""d",1,undefined"#, "undefined"),
        ],
    );
}

#[test]
fn differences_count_boundaries() {
    check_calls(
        "DateTimeDiff",
        &[
            (r#""day","2020-01-01T01:02:03.1234527Z","2020-01-03T01:02:03.1234567Z""#, "2"),
            (r#""yyyy","2028-01-01T01:02:03.1234527Z","2020-01-03T01:02:03.1234567Z""#, "-8"),
            (r#""hh","2020-01-01T01:00:00.1234527Z","2020-01-01T01:59:59.1234567Z""#, "0"),
            (r#""hh","2020-01-01T00:59:59Z","2020-01-01T01:00:00Z""#, "1"),
            (r#""mm","2019-02-04T16:00:00.0000000","2018-03-05T05:00:00.0000000""#, "-11"),
            (r#""ss","2019-02-04T16:00:00.0000000","2018-03-05T05:00:00.0000000""#, "-29070000"),
            (r#""ns","2020-01-01T00:00:00Z","2020-01-01T00:00:00.0000001Z""#, "100"),
            (r#""d","1969-12-31T23:00:00Z","1970-01-01T00:00:00Z""#, "1"),
            (r#""x","2020-01-01T00:00:00Z","2020-01-01T00:00:00Z""#, "undefined"),
            (r#""d",1,"2020-01-01T00:00:00Z""#, "undefined"),
        ],
    );
}

#[test]
fn parts_of_dates() {
    let date = "\"2016-05-29T08:30:05.1301617Z\"";
    for (part, expected) in [
        ("yyyy", "2016"),
        ("mm", "5"),
        ("dd", "29"),
        ("hh", "8"),
        ("n", "30"),
        ("s", "5"),
        ("ms", "130"),
        ("mcs", "130161"),
        ("ns", "130161700"),
        ("dw", "undefined"),
    ] {
        check_calls("DateTimePart", &[(&format!("\"{part}\",{date}"), expected)]);
    }
    check_calls("DateTimePart", &[(r#""d","yesterday""#, "undefined"), (r#"1,"2020-01-01""#, "undefined")]);
}

#[test]
fn bins_of_dates() {
    let date = "\"2021-01-08T18:35:00.0000000Z\"";
    for (rest, expected) in [
        ("\"day\"", "\"2021-01-08T00:00:00.0000000Z\""),
        ("\"hh\"", "\"2021-01-08T18:00:00.0000000Z\""),
        ("\"hh\",5", "\"2021-01-08T15:00:00.0000000Z\""),
        ("\"dd\",7,\"2021-01-01T00:00:00Z\"", "\"2021-01-08T00:00:00.0000000Z\""),
        ("\"dd\",7,\"2021-01-02T00:00:00Z\"", "\"2021-01-02T00:00:00.0000000Z\""),
        ("\"mm\"", "undefined"),
        ("\"dd\",0", "undefined"),
        ("\"dd\",-1", "undefined"),
        ("\"dd\",1.5", "undefined"),
        ("\"dd\",1,\"1600-12-31T00:00:00Z\"", "undefined"),
        ("\"dd\",9e18", "undefined"),
    ] {
        check_calls("DateTimeBin", &[(&format!("{date},{rest}"), expected)]);
    }
    // Bins that begin before all dates there are.
    let (first, origin) = ("\"0001-01-01T00:00:00Z\"", "\"1601-01-01T00:00:00Z\"");
    check_calls("DateTimeBin", &[(&format!("{first},\"dd\",10675199,{origin}"), "undefined")]);
}

#[test]
fn dates_from_parts_and_numbers() {
    check_calls(
        "DateTimeFromParts",
        &[
            ("2017,4,20", "\"2017-04-20T00:00:00.0000000Z\""),
            ("2017,4,20,13,15,20,3456789", "\"2017-04-20T13:15:20.3456789Z\""),
            ("2017,13,1", "undefined"),
            ("2017,2,29", "undefined"),
            ("2017,4,20,24", "undefined"),
            ("2017,4,20,1,60", "undefined"),
            ("2017,4,20,1,1,1,10000000", "undefined"),
            ("-1,1,1", "undefined"),
            ("2017,4,\"20\"", "undefined"),
            ("2017,4,20,null", "undefined"),
        ],
    );
    check_calls(
        "DateTimeToTicks",
        &[
            ("\"2020-01-02T03:04:05.6789123Z\"", "15779342456789123"),
            ("\"1970-01-01\"", "0"),
            ("\"2020-01-02T03:04:05.67891234Z\"", "undefined"),
            ("\"2020-1-2\"", "undefined"),
            ("\"\"", "undefined"),
            ("1", "undefined"),
        ],
    );
    check_calls(
        "DateTimeToTimestamp",
        &[("\"2020-07-09T23:20:13Z\"", "1594336813000"), ("null", "undefined")],
    );
    check_calls(
        "TicksToDateTime",
        &[
            ("15943368134575530", "\"2020-07-09T23:20:13.4575530Z\""),
            ("-1", "\"1969-12-31T23:59:59.9999999Z\""),
            ("1e300", "undefined"),
            ("9e18", "undefined"),
            ("\"1\"", "undefined"),
        ],
    );
    check_calls(
        "TimestampToDateTime",
        &[
            ("1594227912345", "\"2020-07-08T17:05:12.3450000Z\""),
            ("0", "\"1970-01-01T00:00:00.0000000Z\""),
            ("1e18", "undefined"),
            ("undefined", "undefined"),
        ],
    );
}

#[test]
fn the_time_of_the_query_is_the_one_it_was_given() {
    for suffix in ["", "Static"] {
        check(&[
            (&format!("GetCurrentDateTime{suffix}()"), "\"2020-07-09T23:20:13.4575530Z\""),
            (&format!("GetCurrentTicks{suffix}()"), "15943368134575530"),
            (&format!("GetCurrentTimestamp{suffix}()"), "1594336813457"),
        ]);
    }
}

#[test]
fn the_time_of_the_query_is_moved_by_a_part() {
    check(&[
        ("NOW()", "\"2020-07-09T23:20:13.4575530Z\""),
        ("NOW(\"yyyy\", 1)", "\"2021-07-09T23:20:13.4575530Z\""),
        ("NOW(\"ss\", 30)", "\"2020-07-09T23:20:43.4575530Z\""),
        ("NOW(\"dd\", -9)", "\"2020-06-30T23:20:13.4575530Z\""),
        ("AGO(\"ms\", 4)", "\"2020-07-09T23:20:13.4535530Z\""),
        ("AGO(\"hh\", -1)", "\"2020-07-10T00:20:13.4575530Z\""),
        ("NOW(\"week\", 1)", "undefined"),
        ("NOW(\"dd\", 0.5)", "undefined"),
        ("NOW(\"dd\")", "undefined"),
        ("AGO(\"dd\", \"1\")", "undefined"),
        ("AGO(1, 1)", "undefined"),
        ("NOW(c.none, 1)", "undefined"),
    ]);
}

#[test]
fn fields_of_a_date_have_functions_of_their_own() {
    for (date, year, month, day) in [
        ("\"2024-01-10\"", "2024", "1", "10"),
        ("\"2000-12-12T10:00:00\"", "2000", "12", "12"),
        ("\"2016-05-29T08:30:05.1301617Z\"", "2016", "5", "29"),
        ("\"2016-05-29 08:30:05\"", "2016", "5", "29"),
        ("\"yesterday\"", "undefined", "undefined", "undefined"),
        ("2024", "undefined", "undefined", "undefined"),
    ] {
        check_calls("YEAR", &[(date, year)]);
        check_calls("MONTH", &[(date, month)]);
        check_calls("DAY", &[(date, day)]);
    }
}

#[test]
fn dates_are_formatted_by_a_pattern() {
    for (format, expected) in [
        ("yyyy-MM-dd [HH:mm:ss]", "\"2024-10-05 [14:40:20]\""),
        ("HH:mm:ss.fff", "\"14:40:20.000\""),
        ("HH:mm:ss.FFF", "\"14:40:20.\""),
        ("yy M d H", "\"24 10 5 14\""),
        ("MMM MMMM ddd dddd", "\"Oct October Sat Saturday\""),
        ("\\\\d\\\\a\\\\y: d", "\"day: 5\""),
        ("", "\"\""),
        ("ffffffff", "undefined"),
        ("yyyy\\\\", "undefined"),
    ] {
        check_calls("DATETIMEFORMAT", &[(&format!("\"2024-10-05 14:40:20\",\"{format}\""), expected)]);
    }
    check_calls(
        "DATETIMEFORMAT",
        &[
            ("\"2024-10-10 14:40:20\",\"yyyy-MM-dd [HH:mm:ss]\"", "\"2024-10-10 [14:40:20]\""),
            ("\"2024-10-10T14:40:20.1204Z\",\"fff FFF fffffff FFFFFFF\"", "\"120 12 1204000 1204\""),
            ("\"1969-12-31\",\"dddd\"", "\"Wednesday\""),
            ("\"no date\",\"yyyy\"", "undefined"),
            ("\"2024-10-10\",1", "undefined"),
        ],
    );
}

#[test]
fn texts_that_are_dates_are_told_from_others() {
    for (value, expected) in [
        ("\"2024-12-12\"", "true"),
        ("\"2024-12-12Z\"", "true"),
        ("\"2024-12-12 20:21:25\"", "true"),
        ("\"2024-12-12T20:21:25Z\"", "true"),
        ("\"2024-12-12T20:21:25.123\"", "true"),
        ("\"2024-12-12 20:21:25.123Z\"", "true"),
        ("\"2024-12-12T20:21:25.1234567Z\"", "true"),
        ("\"2024-12-12T20:21:25.12345678Z\"", "false"),
        ("\"2024-12-12T20Z\"", "false"),
        ("\"2024-12-12 20:21:25.\"", "false"),
        ("\"2024-13-12\"", "false"),
        ("20241212", "false"),
        ("undefined", "false"),
    ] {
        check_calls("IS_DATETIME", &[(value, expected)]);
    }
    check_calls("DateTimeToTicks", &[("\"1970-01-01 00:00:01\"", "10000000"), ("\"1970-01-01Z\"", "0")]);
}
