//! Small files that say how far a command has come: each is whole at every moment, even if the process is killed or the
//! machine stops.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Replaces the file in one step.
pub(crate) fn save<T: Serialize>(path: &Path, state: &T) -> Result<(), Failure> {
    let beside = with_suffix(path, ".new");
    let json = serde_json::to_vec(state).expect("a state has only texts, numbers and lists");
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(&json)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| cannot("write", path, &error))?;
    sync_directory_of(path);
    Ok(())
}

/// Reads the file; `None` if there is none.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    let json = match fs::read(path) {
        Ok(json) => json,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot("read", path, &error)),
    };
    serde_json::from_slice(&json).map(Some).map_err(|error| {
        let shown = path.display();
        Failure::Usage(format!("{shown} does not say how far an earlier run came: {error} (use --restart)"))
    })
}

/// Removes the file, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot("remove", path, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes sure that a rename in a directory outlives the machine's stop, where directories can be synced.
pub(crate) fn sync_directory_of(path: &Path) {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    // A system that cannot sync a directory has no other way to be asked.
    let _ = File::open(directory.unwrap_or(Path::new("."))).and_then(|directory| directory.sync_all());
}

/// The same path with something at its end.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut text = path.as_os_str().to_owned();
    text.push(suffix);
    text.into()
}

/// Whether two paths are of one file, whether or not it is there.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok();
    one == other || (whole(one).is_some() && whole(one) == whole(other))
}

/// That a file cannot be worked with.
pub(crate) fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::Work(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_replaced_read_back_and_removed() {
        let path = std::env::temp_dir().join(format!("cosmonaut-checkpoint-{}", std::process::id()));
        assert!(load::<u64>(&path).unwrap().is_none());
        for n in [1_u64, 2] {
            save(&path, &n).unwrap();
            assert_eq!(load(&path).unwrap(), Some(n));
        }
        fs::write(&path, "{").unwrap();
        assert!(matches!(load::<u64>(&path), Err(Failure::Usage(text)) if text.contains("--restart")));
        remove(&path).unwrap();
        remove(&path).unwrap();
    }
}
