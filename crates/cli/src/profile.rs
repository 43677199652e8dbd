//! Profiles: accounts by name, from a configuration file.
//!
//! A profile names where a key is, not the key, unless its owner has said so by the name of the member.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cosmonaut::ConnectionString;
use serde::Deserialize;

use crate::directories;
use crate::failure::Failure;
use crate::token::TokenSource;

/// What the file may have, for messages.
const EXAMPLE: &str = r#"{"default": "dev", "profiles": {"dev": {"endpoint": "http://localhost:8081"}, "prod": {"endpoint":
  "https://ACCOUNT.documents.azure.com", "auth": {"keyVariable": "PROD_KEY"}, "prefer": "West Europe"}}}; instead of
  keyVariable: connectionStringVariable, keyFile, keyInClearText, or "entra": {} with tokenVariable or tokenCommand"#;

/// A configuration file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Configuration {
    /// The profile that is used if nothing else says which account.
    default: Option<String>,
    #[serde(default)]
    profiles: BTreeMap<String, Written>,
}

/// A profile as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    endpoint: Option<String>,
    auth: Option<Auth>,
    prefer: Option<String>,
    #[serde(default)]
    insecure: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Auth {
    KeyVariable(String),
    ConnectionStringVariable(String),
    KeyFile(PathBuf),
    KeyInClearText(String),
    Entra(Entra),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entra {
    token_variable: Option<String>,
    token_command: Option<Vec<String>>,
}

/// What a profile says about an account.
pub(crate) struct Profile {
    pub(crate) endpoint: String,
    pub(crate) access: ProfileAccess,
    pub(crate) prefer: Option<String>,
    pub(crate) accepts_any_certificate: bool,
}

pub(crate) enum ProfileAccess {
    /// Nothing is said.
    Usual,
    Key(String),
    Tokens(TokenSource),
}

/// The profile of this name, or the one that the file takes if there is no name; `None` if nothing is configured.
pub(crate) fn find(
    name: Option<&str>,
    file: Option<&Path>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Profile>, Failure> {
    let usual = || directories::configuration().map(|directory| directory.join("config.json"));
    let Some(path) = file.map(Path::to_owned).or_else(usual) else {
        return match name {
            Some(name) => {
                Err(Failure::Usage(format!("profile {name:?}: no configuration file (say --config)")))
            }
            None => Ok(None),
        };
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && file.is_none() && name.is_none() => {
            return Ok(None);
        }
        Err(error) => {
            return Err(Failure::Usage(format!(
                "{} cannot be read: {error} (it has the profiles, such as {EXAMPLE})",
                path.display()
            )));
        }
    };
    // The words of the parser could have a key in them.
    let mut configuration: Configuration = serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Failure::Usage(format!(
            "{}, line {line}, column {column}: not what a configuration has (it is such as {EXAMPLE})",
            path.display()
        ))
    })?;
    let Some(name) = name.map(str::to_owned).or_else(|| configuration.default.clone()) else {
        return Ok(None);
    };
    let known: Vec<_> = configuration.profiles.keys().cloned().collect();
    let written = configuration.profiles.remove(&name).ok_or_else(|| {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Failure::Usage(format!("there is no profile {name:?} in {} (there are: {known})", path.display()))
    })?;
    let wrong =
        |problem: String| Failure::Usage(format!("profile {name:?} of {}: {problem}", path.display()));
    written.read(&path, variable).map(Some).map_err(wrong)
}

impl Written {
    fn read(self, file: &Path, variable: impl Fn(&str) -> Option<String>) -> Result<Profile, String> {
        let set = |name: &str| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.ok_or_else(|| format!("the variable {name} is not set"))
        };
        let mut endpoint = self.endpoint;
        let mut accepts_any_certificate = self.insecure;
        let access = match self.auth {
            None => ProfileAccess::Usual,
            Some(Auth::KeyVariable(name)) => ProfileAccess::Key(set(&name)?),
            Some(Auth::ConnectionStringVariable(name)) => {
                let parsed: ConnectionString =
                    set(&name)?.parse().map_err(|error| format!("{name}: {error}"))?;
                endpoint = endpoint.or_else(|| Some(parsed.endpoint().to_owned()));
                accepts_any_certificate |= parsed.accepts_any_certificate();
                ProfileAccess::Key(parsed.key().to_owned())
            }
            Some(Auth::KeyFile(path)) => {
                // Beside the configuration, if nothing else is said.
                let path = file.parent().map_or_else(|| path.clone(), |directory| directory.join(&path));
                let key = fs::read_to_string(&path)
                    .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
                let key = key.trim();
                if key.is_empty() {
                    return Err(format!("{} is empty, which is no key", path.display()));
                }
                ProfileAccess::Key(key.to_owned())
            }
            Some(Auth::KeyInClearText(key)) => {
                not_open_to_others(file, 0o077, "others can read it, and it has a key")?;
                ProfileAccess::Key(key)
            }
            Some(Auth::Entra(entra)) => {
                ProfileAccess::Tokens(match (entra.token_variable, entra.token_command) {
                    (Some(name), None) => TokenSource::Given(set(&name)?),
                    (None, Some(words)) => {
                        not_open_to_others(file, 0o022, "others can write it, and it has a command")?;
                        TokenSource::Program(words)
                    }
                    (None, None) => TokenSource::azure_cli(),
                    (Some(_), Some(_)) => {
                        return Err("tokens come from tokenVariable or tokenCommand, not both".to_owned());
                    }
                })
            }
        };
        let endpoint = endpoint.ok_or("it has no endpoint")?;
        Ok(Profile { endpoint, access, prefer: self.prefer, accepts_any_certificate })
    }
}

/// That others may not do with a file what these bits of its mode let them.
#[cfg(unix)]
fn not_open_to_others(file: &Path, bits: u32, why: &str) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(file).map_err(|error| error.to_string())?.permissions().mode();
    if mode & bits == 0 { Ok(()) } else { Err(format!("{why} (chmod 600 {})", file.display())) }
}

#[cfg(not(unix))]
fn not_open_to_others(_: &Path, _: u32, _: &str) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn with(name: &str, text: &str, mode: u32) -> Self {
            let path =
                std::env::temp_dir().join(format!("cosmonaut-profile-{name}-{}.json", std::process::id()));
            fs::write(&path, text).unwrap();
            #[cfg(unix)]
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            let _ = mode;
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn variable(name: &str) -> Option<String> {
        let set =
            [("K", "aw=="), ("S", "AccountEndpoint=https://s.example;AccountKey=ZQ==;"), ("T", "token")];
        set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn read(name: &str, auth: &str, mode: u32) -> Result<Profile, String> {
        let text = format!(
            r#"{{"default":"a","profiles":{{"a":{{"endpoint":"https://a.example","auth":{auth}}}}}}}"#
        );
        let file = Scratch::with(name, &text, mode);
        match find(None, Some(&file.0), variable) {
            Ok(profile) => Ok(profile.unwrap()),
            Err(Failure::Usage(message)) => Err(message),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_profile_says_where_the_key_is() {
        let key = |auth| match read("key", auth, 0o600).unwrap().access {
            ProfileAccess::Key(key) => key,
            _ => panic!("{auth}"),
        };
        assert_eq!(key(r#"{"keyVariable":"K"}"#), "aw==");
        assert_eq!(key(r#"{"connectionStringVariable":"S"}"#), "ZQ==");
        assert_eq!(key(r#"{"keyInClearText":"YQ=="}"#), "YQ==");
        let file = Scratch::with("file", "Yg==\n", 0o600);
        assert_eq!(key(&format!(r#"{{"keyFile":{:?}}}"#, file.0)), "Yg==");
        let tokens = |auth| match read("tokens", auth, 0o600).unwrap().access {
            ProfileAccess::Tokens(source) => source,
            _ => panic!("{auth}"),
        };
        assert_eq!(tokens(r#"{"entra":{}}"#), TokenSource::azure_cli());
        assert_eq!(tokens(r#"{"entra":{"tokenVariable":"T"}}"#), TokenSource::Given("token".to_owned()));
        assert_eq!(
            tokens(r#"{"entra":{"tokenCommand":["a","b c"]}}"#),
            TokenSource::Program(vec!["a".to_owned(), "b c".to_owned()])
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_key_in_clear_is_taken_from_a_private_file_only_and_a_command_from_one_nobody_else_writes() {
        let message = |auth, mode| read("open", auth, mode).err().unwrap_or_default();
        for mode in [0o644, 0o640, 0o604] {
            assert!(message(r#"{"keyInClearText":"c2VjcmV0"}"#, mode).contains("chmod 600"), "{mode:o}");
        }
        let command = r#"{"entra":{"tokenCommand":["a"]}}"#;
        assert!(message(command, 0o664).contains("chmod 600"));
        assert!(read("open", command, 0o644).is_ok());
    }

    #[test]
    fn what_cannot_be_read_is_named_but_no_secret_is() {
        for (auth, part) in [
            (r#"{"keyVariable":"MISSING"}"#, "MISSING is not set"),
            (r#"{"keyFile":"/nonexistent/key"}"#, "/nonexistent/key"),
            (r#"{"key":"c2VjcmV0"}"#, "line 1"),
            (r#""c2VjcmV0""#, "line 1"),
            (r#"{"entra":{"tokenVariable":"T","tokenCommand":["a"]}}"#, "not both"),
        ] {
            let message = read("wrong", auth, 0o600).err().unwrap();
            assert!(message.contains(part) && !message.contains("c2VjcmV0"), "{auth}: {message}");
        }
        let file =
            Scratch::with("names", r#"{"profiles":{"a":{"endpoint":"x"},"b":{"endpoint":"y"}}}"#, 0o600);
        let Err(Failure::Usage(message)) = find(Some("c"), Some(&file.0), variable) else { panic!() };
        assert!(message.contains("\"c\"") && message.contains("a, b"), "{message}");
        assert!(find(None, Some(&file.0), variable).is_ok_and(|found| found.is_none()));
        assert!(find(None, Some(Path::new("/nonexistent/c.json")), variable).is_err());
    }
}
