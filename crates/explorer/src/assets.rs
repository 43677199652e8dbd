//! The page: one shell without data, a style sheet and plain modules, all within the binary.

use bytes::Bytes;
use http::StatusCode;

use crate::answer::{Answer, Refusal, respond};

const SHELL: &str = include_str!("../page/index.html");

macro_rules! assets {
    ($($path:literal => $kind:expr,)+) => {
        /// The parts of the page, by name.
        const ASSETS: &[(&str, &str, &str)] =
            &[$(($path, $kind, include_str!(concat!("../page/", $path))),)+];
    };
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

assets! {
    "app.css" => STYLE,
    "icon.svg" => IMAGE,
    "main.js" => SCRIPT,
    "lib/api.js" => SCRIPT,
    "lib/dom.js" => SCRIPT,
    "lib/diagnostics.js" => SCRIPT,
    "lib/json.js" => SCRIPT,
    "lib/grid.js" => SCRIPT,
    "lib/editor.js" => SCRIPT,
    "lib/plot.js" => SCRIPT,
    "lib/kept.js" => SCRIPT,
    "lib/place.js" => SCRIPT,
    "lib/script.js" => SCRIPT,
    "lib/command.js" => SCRIPT,
    "lib/words.js" => SCRIPT,
    "lib/transfer.js" => SCRIPT,
    "pages/overview.js" => SCRIPT,
    "pages/data.js" => SCRIPT,
    "pages/items.js" => SCRIPT,
    "pages/item.js" => SCRIPT,
    "pages/settings.js" => SCRIPT,
    "pages/scripts.js" => SCRIPT,
    "pages/changes.js" => SCRIPT,
    "pages/conflicts.js" => SCRIPT,
    "pages/users.js" => SCRIPT,
    "pages/query.js" => SCRIPT,
    "pages/regions.js" => SCRIPT,
    "pages/requests.js" => SCRIPT,
    "pages/request.js" => SCRIPT,
    "pages/orchestrations.js" => SCRIPT,
    "pages/instance.js" => SCRIPT,
}

/// A part of the page, or the shell, which finds out by itself what its address shows.
pub(crate) fn answer(parts: &[String]) -> Result<Answer, Refusal> {
    if parts.first().is_some_and(|first| first == "page") {
        let path = parts[1..].join("/");
        let found = ASSETS.iter().find(|(known, ..)| *known == path);
        let (_, kind, body) = found.ok_or_else(|| Refusal::not_found("there is no such part of the page"))?;
        return Ok(respond(StatusCode::OK, kind, Bytes::from_static(body.as_bytes())));
    }
    Ok(respond(StatusCode::OK, "text/html; charset=utf-8", Bytes::from_static(SHELL.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts that the first page needs, by the imports of its modules.
    fn needed(path: &str, found: &mut Vec<&'static str>) {
        let (name, _, body) = ASSETS.iter().find(|(known, ..)| *known == path).unwrap();
        if found.contains(name) {
            return;
        }
        found.push(name);
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for line in body.lines().filter(|line| line.starts_with("import ")) {
            let from = line.rsplit('\'').nth(1).unwrap();
            let next = match from.strip_prefix("../") {
                Some(rest) => rest.to_owned(),
                None => format!("{folder}/{}", &from[2..]).trim_start_matches('/').to_owned(),
            };
            needed(&next, found);
        }
    }

    /// A page is loaded when it is opened, so what counts is the first one, and then each of them.
    #[test]
    fn the_page_is_small() {
        let mut first = vec!["app.css", "icon.svg"];
        needed("main.js", &mut first);
        needed("pages/overview.js", &mut first);
        let bytes = |of: &dyn Fn(&str) -> bool| -> usize {
            ASSETS.iter().filter(|(path, ..)| of(path)).map(|(.., body)| body.len()).sum()
        };
        let shell = SHELL.len() + bytes(&|path| first.contains(&path));
        assert!(shell < 64 * 1024, "the first page has {shell} bytes: {first:?}");
        for (path, _, body) in ASSETS {
            assert!(body.len() < 24 * 1024, "{path} has {} bytes", body.len());
        }
        let all = SHELL.len() + bytes(&|_| true);
        assert!(all < 240 * 1024, "{all} bytes");
    }
}
