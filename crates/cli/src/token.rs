//! Entra tokens for an account: from a variable, or from a program such as the Azure CLI.
//!
//! The binary has no identity library: those who sign in do so with the tool of their choice.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use cosmonaut::{AccessToken, TokenProvider, TokenRequest};
use serde_json::Value;

use crate::runtime;

/// The Azure CLI. On Windows it is a script, which is not found without its ending.
const AZ: &str = if cfg!(windows) { "az.cmd" } else { "az" };
/// Asked if nothing is said.
const AZURE_CLI: [&str; 7] = [AZ, "account", "get-access-token", "--output", "json", "--scope", SCOPE];
/// Stands for what a token is to be good for.
const SCOPE: &str = "{scope}";
/// For how long a token is taken to be good that does not say so.
const UNKNOWN: Duration = Duration::from_secs(10 * 60);

/// Where tokens come from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// One that somebody else has got.
    Given(String),
    /// What a program prints: a token, or JSON with `accessToken` and `expires_on`.
    Program(Vec<String>),
}

impl TokenSource {
    /// The Azure CLI of whoever is signed in to it.
    pub(crate) fn azure_cli() -> Self {
        Self::Program(AZURE_CLI.map(str::to_owned).to_vec())
    }

    /// A program and its arguments, between blanks.
    pub(crate) fn program(text: &str) -> Option<Self> {
        let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self::Program(words))
    }
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(_) => f.write_str("Given(…)"),
            Self::Program(words) => f.debug_tuple("Program").field(words).finish(),
        }
    }
}

type Failed = Arc<dyn Error + Send + Sync>;

impl TokenProvider for TokenSource {
    fn token<'a>(
        &'a self,
        request: TokenRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<AccessToken, Failed>> + Send + 'a>> {
        let now = runtime::time_of_day().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (words, scope) = match self {
            Self::Given(token) => {
                let token = AccessToken { secret: token.clone(), expires_on: now + UNKNOWN };
                return Box::pin(std::future::ready(Ok(token)));
            }
            Self::Program(words) => (words.clone(), request.scope.to_owned()),
        };
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || ask(&words, &scope, now)).await;
            asked
                .map_err(|error| Arc::new(error) as Failed)?
                .map_err(|problem| Arc::new(std::io::Error::other(problem)) as Failed)
        })
    }
}

/// Runs the program. What it prints is a secret, and in no error.
fn ask(words: &[String], scope: &str, now: Duration) -> Result<AccessToken, String> {
    let [program, arguments @ ..] = words else { return Err("no program gives tokens".to_owned()) };
    let arguments = arguments.iter().map(|word| word.replace(SCOPE, scope));
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().map_err(|error| {
        format!("{program}, which is to give a token, cannot be run: {error} (is it installed?)")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} gave no token ({}): {}", output.status, said.trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    read(text.trim(), now).ok_or_else(|| format!("what {program} printed is no token"))
}

fn read(text: &str, now: Duration) -> Option<AccessToken> {
    if !text.starts_with('{') {
        let is_token = !text.is_empty() && !text.contains(char::is_whitespace);
        return is_token.then(|| AccessToken { secret: text.to_owned(), expires_on: now + UNKNOWN });
    }
    let answer: Value = serde_json::from_str(text).ok()?;
    let expires = &answer["expires_on"];
    let seconds = expires.as_u64().or_else(|| expires.as_str()?.parse().ok());
    let expires_on = seconds.map_or(now + UNKNOWN, Duration::from_secs);
    Some(AccessToken { secret: answer["accessToken"].as_str()?.to_owned(), expires_on })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_azure_cli_is_found_by_the_name_that_it_has_on_this_system() {
        let TokenSource::Program(words) = TokenSource::azure_cli() else { panic!() };
        assert_eq!(words[0].ends_with(".cmd"), cfg!(windows));
    }

    #[test]
    fn a_token_is_text_or_json_that_says_when_it_ends() {
        let now = Duration::from_secs(1000);
        let read = |text| read(text, now).map(|token| (token.secret, token.expires_on.as_secs()));
        assert_eq!(read("abc"), Some(("abc".to_owned(), 1600)));
        assert_eq!(read(r#"{"accessToken":"t","expires_on":7}"#), Some(("t".to_owned(), 7)));
        assert_eq!(read(r#"{"accessToken":"t","expires_on":"8"}"#), Some(("t".to_owned(), 8)));
        for text in ["", "not a token", "{", "{\"expires_on\":7}"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert!(!format!("{:?}", TokenSource::Given("secret".to_owned())).contains("secret"));
    }
}
