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
    "lib/json.js" => SCRIPT,
    "lib/grid.js" => SCRIPT,
    "lib/editor.js" => SCRIPT,
    "lib/plot.js" => SCRIPT,
    "lib/words.js" => SCRIPT,
    "lib/transfer.js" => SCRIPT,
    "pages/overview.js" => SCRIPT,
    "pages/data.js" => SCRIPT,
    "pages/items.js" => SCRIPT,
    "pages/item.js" => SCRIPT,
    "pages/settings.js" => SCRIPT,
    "pages/query.js" => SCRIPT,
    "pages/regions.js" => SCRIPT,
    "pages/requests.js" => SCRIPT,
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

    #[test]
    fn the_page_is_small() {
        let bytes: usize = SHELL.len() + ASSETS.iter().map(|(.., body)| body.len()).sum::<usize>();
        assert!(bytes < 180 * 1024, "{bytes} bytes");
    }
}
