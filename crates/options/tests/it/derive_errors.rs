//! What the derive says about wrong use, and that right use compiles.

#[test]
fn wrong_use_is_reported_at_its_span() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}
