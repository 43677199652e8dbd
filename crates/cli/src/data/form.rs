//! The form of a file with items: JSON lines, a JSON array or CSV, packed or not, as its name says.

use std::path::Path;

use crate::failure::Failure;

/// How items are written.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// An item in each line
    #[default]
    Jsonl,
    /// One array
    Json,
    /// RFC 4180, a column for each member that any item has
    Csv,
}

impl Form {
    /// What the names of such files end with.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Json => "json",
            Self::Csv => "csv",
        }
    }

    /// The form that a name says.
    fn by_name(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// The form of a file, and whether it is packed with gzip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Packed {
    pub(crate) form: Form,
    pub(crate) gzip: bool,
}

/// The form of a file, by an argument or its name.
pub(crate) fn of(path: &Path, said: Option<Form>) -> Result<Packed, Failure> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (name, gzip) = without_gz(&name);
    let form = said.or_else(|| Form::by_name(name)).ok_or_else(|| {
        let shown = path.display();
        Failure::Usage(format!("{shown}: the name does not say the format (use --format jsonl, json or csv)"))
    })?;
    Ok(Packed { form, gzip })
}

fn without_gz(name: &str) -> (&str, bool) {
    match name.len().checked_sub(3).and_then(|at| name.split_at_checked(at)) {
        Some((stem, end)) if end.eq_ignore_ascii_case(".gz") => (stem, true),
        _ => (name, false),
    }
}

/// The name of a file without what says its form: `orders` of `orders.jsonl.gz`.
pub(crate) fn stem(name: &str) -> &str {
    let (name, _) = without_gz(name);
    match Form::by_name(name) {
        Some(_) => name.rsplit_once('.').map_or(name, |(stem, _)| stem),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_form() {
        for (name, form, gzip, stem_of) in [
            ("a.jsonl", Form::Jsonl, false, "a"),
            ("x/a.b.NDJSON.GZ", Form::Jsonl, true, "a.b"),
            ("a.json", Form::Json, false, "a"),
            ("a.csv.gz", Form::Csv, true, "a"),
        ] {
            assert_eq!(of(Path::new(name), None).unwrap(), Packed { form, gzip }, "{name}");
            assert_eq!(stem(name.rsplit('/').next().unwrap()), stem_of);
        }
        assert_eq!(of(Path::new("-"), Some(Form::Csv)).unwrap(), Packed { form: Form::Csv, gzip: false });
        for name in ["a", "a.txt", ".gz", "ä"] {
            assert!(
                matches!(of(Path::new(name), None), Err(Failure::Usage(text)) if text.contains("--format"))
            );
        }
    }
}
