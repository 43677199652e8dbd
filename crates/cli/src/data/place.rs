//! What a command is about: one container, the containers of a database, or all of an account.

use std::path::{Path, PathBuf};

use cosmonaut::CosmosClient;

use super::definition::{Definition, SUFFIX};
use crate::account::failed;
use crate::container::{self, ContainerName, Found};
use crate::failure::Failure;

/// The arguments that say what and where.
#[derive(Debug, PartialEq)]
pub(crate) enum Place {
    /// A container and its file.
    One(ContainerName, PathBuf),
    /// The containers of a database, or of all, and their directory.
    Many(Option<String>, PathBuf),
}

impl Place {
    /// Reads `DATABASE/CONTAINER FILE`, `DATABASE DIRECTORY`, or `DIRECTORY` where all are meant.
    pub(crate) fn read(words: &[String], all: bool) -> Result<Self, Failure> {
        let expected = "expected DATABASE/CONTAINER FILE, DATABASE DIRECTORY or --all DIRECTORY";
        match (all, words) {
            (true, [directory]) => Ok(Self::Many(None, directory.into())),
            (false, [what, path]) if what.contains('/') => {
                let name =
                    what.parse().map_err(|problem: String| Failure::Usage(format!("{what}: {problem}")))?;
                Ok(Self::One(name, path.into()))
            }
            (false, [database, directory]) if !database.is_empty() => {
                Ok(Self::Many(Some(database.clone()), directory.into()))
            }
            _ => Err(Failure::Usage(expected.to_owned())),
        }
    }
}

/// The containers of a database, or of all, with their resource ids.
pub(crate) async fn containers(
    client: &CosmosClient,
    database: Option<&str>,
) -> Result<Vec<(ContainerName, Option<String>)>, Failure> {
    let found = container::all(client).await.map_err(|error| failed(&error))?;
    let with_rid = |found: Found| {
        let container = found.container?;
        let name = ContainerName::new(found.database, container.id);
        database.is_none_or(|database| database == name.database).then_some((name, container.rid))
    };
    let names: Vec<_> = found.into_iter().filter_map(with_rid).collect();
    match (names.is_empty(), database) {
        (true, Some(database)) => {
            Err(Failure::Work(format!("there is no database {database:?} with containers")))
        }
        (true, None) => Err(Failure::Work("the account has no containers".to_owned())),
        (false, _) => Ok(names),
    }
}

/// Where the items of a container are in a directory, but for what the name ends with.
pub(crate) fn file_in(directory: &Path, name: &ContainerName) -> PathBuf {
    directory.join(file_name(&name.database)).join(file_name(&name.container))
}

/// A name as a file can have it on any system, and another one for each name also where the system does not tell capital
/// letters from small ones.
///
/// What is no letter, digit, blank, dash or underscore is a percent sign and two digits for each of its bytes, and so is a
/// letter beyond ASCII that has a capital or small form. Which letters of ASCII are capital is told at the end, behind a
/// percent sign: a digit for every four characters.
fn file_name(name: &str) -> String {
    let last = name.chars().count().saturating_sub(1);
    let (mut written, mut capitals) = (String::new(), Vec::new());
    for (at, c) in name.chars().enumerate() {
        let has_case = !c.is_ascii() && (c.is_uppercase() || c.is_lowercase());
        let plain =
            (c.is_alphanumeric() && !has_case) || matches!(c, '-' | '_') || (c == ' ' && at > 0 && at < last);
        match plain && !(at == 0 && is_reserved(name)) {
            true => written.push(c),
            false => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    written += &format!("%{byte:02x}");
                }
            }
        }
        if c.is_ascii_uppercase() {
            capitals.resize(at / 4 + 1, 0_u8);
            capitals[at / 4] |= 1 << (at % 4);
        }
    }
    if !capitals.is_empty() {
        written.push('%');
        capitals.iter().for_each(|four| written += &format!("{four:x}"));
    }
    written
}

/// Whether Windows has a device of this name.
fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let port = name.strip_prefix("com").or_else(|| name.strip_prefix("lpt"));
    let is_number = |rest: &str| rest.chars().count() == 1 && rest.chars().all(char::is_numeric);
    matches!(&*name, "con" | "prn" | "aux" | "nul") || port.is_some_and(is_number)
}

/// The definitions in a directory, those of a database or all, by path.
pub(crate) fn definitions(
    directory: &Path,
    database: Option<&str>,
) -> Result<Vec<(PathBuf, Definition)>, Failure> {
    let cannot = |path: &Path, error: &std::io::Error| super::checkpoint::cannot("read", path, error);
    let mut found = Vec::new();
    for folder in entries(directory).map_err(|error| cannot(directory, &error))? {
        if !folder.is_dir() {
            continue;
        }
        for path in entries(&folder).map_err(|error| cannot(&folder, &error))? {
            if path.to_string_lossy().ends_with(SUFFIX) {
                let definition = Definition::load(&path)?;
                if database.is_none_or(|database| database == definition.database) {
                    found.push((path, definition));
                }
            }
        }
    }
    if found.is_empty() {
        let shown = directory.display();
        return Err(Failure::Usage(format!(
            "{shown} has no containers in it (`cosmonaut export` writes such directories)"
        )));
    }
    Ok(found)
}

/// The paths in a directory, in the order of their names.
fn entries(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths: Vec<_> = std::fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_whether_it_is_one_container_or_many() {
        let read = |words: &[&str], all| {
            Place::read(&words.iter().map(ToString::to_string).collect::<Vec<_>>(), all)
        };
        assert_eq!(read(&["a/b", "f"], false).unwrap(), Place::One(ContainerName::new("a", "b"), "f".into()));
        assert_eq!(read(&["a", "d"], false).unwrap(), Place::Many(Some("a".to_owned()), "d".into()));
        assert_eq!(read(&["d"], true).unwrap(), Place::Many(None, "d".into()));
        for (words, all) in
            [(&["a"][..], false), (&["a", "b"], true), (&["", "d"], false), (&["a/", "f"], false)]
        {
            assert!(matches!(read(words, all), Err(Failure::Usage(_))), "{words:?}");
        }
    }

    #[test]
    fn names_of_containers_are_names_of_files() {
        for (name, file) in [
            ("orders", "orders"),
            ("..", "%2e%2e"),
            ("a:b", "a%3ab"),
            ("größe 1", "gr%c3%b6%c3%9fe 1"),
            ("東京 1", "東京 1"),
            ("con ", "con%20"),
            // Names that some systems take for one.
            ("Orders", "Orders%1"),
            ("ORDERS", "ORDERS%f3"),
            ("webOrders", "webOrders%8"),
            ("orders%1", "orders%251"),
            ("\u{212a}", "%e2%84%aa"),
            ("ÄA", "%c3%84A%2"),
            // Names of devices.
            ("con", "%63on"),
            ("Aux", "%41ux%1"),
            ("nul", "%6eul"),
            ("com1", "%63om1"),
            ("lpt²", "%6cpt²"),
            ("com10", "com10"),
            ("console", "console"),
        ] {
            assert_eq!(file_name(name), file);
        }
    }
}
