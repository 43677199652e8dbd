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

/// A name as a file can have it on any system: what is no letter, digit, blank, dash or underscore is a percent sign and
/// two digits.
fn file_name(name: &str) -> String {
    let mut written = String::new();
    for (at, c) in name.char_indices() {
        let plain = c.is_alphanumeric() || matches!(c, '-' | '_') || (c == ' ' && at > 0);
        match plain {
            true => written.push(c),
            false => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    written += &format!("%{byte:02x}");
                }
            }
        }
    }
    written
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
            ("Größe 1", "Größe 1"),
            ("con ", "con "),
        ] {
            assert_eq!(file_name(name), file);
        }
    }
}
