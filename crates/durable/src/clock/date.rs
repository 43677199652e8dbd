//! Reading the date of an HTTP answer, such as `Sun, 06 Nov 1994 08:49:37 GMT`.

/// Milliseconds since 1970; `None` if the text is no date of that form, which is the only one that servers write.
pub(super) fn parse(text: &str) -> Option<u64> {
    let mut parts = text.split_once(", ")?.1.split([' ', ':']);
    let mut next = || parts.next();
    let day: u64 = next()?.parse().ok()?;
    let month = month(next()?)?;
    let year: u64 = next()?.parse().ok()?;
    let hour: u64 = next()?.parse().ok()?;
    let minute: u64 = next()?.parse().ok()?;
    let second: u64 = next()?.parse().ok()?;
    let is_possible = (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if next()? != "GMT" || next().is_some() || !is_possible || !(1970..10_000).contains(&year) {
        return None;
    }
    let seconds = (days(year, month, day) * 24 + hour) * 3600 + minute * 60 + second;
    Some(seconds * 1000)
}

fn month(name: &str) -> Option<u64> {
    const NAMES: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    (1..).zip(NAMES).find(|(_, known)| *known == name).map(|(number, _)| number)
}

/// Days from the start of 1970 to a day of the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> u64 {
    /// From the first of March of the year 0 to the start of 1970.
    const BEFORE_1970: u64 = 719_468;
    // A year that begins in March ends with the leap day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - BEFORE_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777_000)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799_000)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800_000)),
            ("Mon, 16 Nov 2026 03:14:21 GMT", Some(1_794_798_861_000)),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 1994 08:49:37 GMT x", None),
            ("Sun, 06 Nov 1994 24:49:37 GMT", None),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
