//! Who is answered: whoever has the secret, calls the explorer by its name, and is no other page.

use crate::World;

#[tokio::test]
async fn only_the_page_itself_with_the_secret_is_answered() {
    let world = World::start().await;
    let (host, secret) = (world.authority().to_owned(), world.secret().to_owned());
    let port = host.split(':').nth(1).unwrap().to_owned();
    let own = format!("host: {host}\r\nx-cosmonaut-key: {secret}\r\n");
    for (headers, status) in [
        (own.clone(), 200),
        (format!("{own}origin: http://{host}\r\n"), 200),
        (format!("{own}sec-fetch-site: same-origin\r\n"), 200),
        (format!("host: localhost:{port}\r\nx-cosmonaut-key: {secret}\r\n"), 200),
        (format!("host: [::1]:{port}\r\nx-cosmonaut-key: {secret}\r\n"), 200),
        (format!("host: {host}\r\n"), 401),
        (format!("host: {host}\r\nx-cosmonaut-key: {}\r\n", "0".repeat(32)), 401),
        (format!("host: {host}\r\nx-cosmonaut-key: {}\r\n", &secret[1..]), 401),
        (format!("host: {host}\r\ncookie: x-cosmonaut-key={secret}\r\n"), 401),
        (format!("{own}x-cosmonaut-key: {secret}\r\n"), 401),
        (format!("{own}origin: http://evil.example\r\n"), 403),
        (format!("{own}origin: null\r\n"), 403),
        (format!("{own}origin: https://{host}\r\n"), 403),
        (format!("{own}origin: http://127.0.0.1:1\r\n"), 403),
        (format!("{own}sec-fetch-site: cross-site\r\n"), 403),
        (format!("{own}sec-fetch-site: same-site\r\n"), 403),
        (format!("host: evil.example:{port}\r\nx-cosmonaut-key: {secret}\r\n"), 421),
        (format!("host: 127.0.0.1:1\r\nx-cosmonaut-key: {secret}\r\n"), 421),
        (format!("{own}host: evil.example\r\n"), 421),
    ] {
        let heard = world.send("GET /api/account", &headers, "").await;
        assert_eq!(heard.status, status, "{headers}: {}", heard.body);
        assert!(!heard.head.contains("access-control"), "{}", heard.head);
        assert!(
            !heard.body.contains(&secret) && !heard.body.contains(world.emulator.key()),
            "{}",
            heard.body
        );
    }
    let elsewhere = world.send("GET http://evil.example/api/account", &own, "").await;
    assert_eq!(elsewhere.status, 421);
}

#[tokio::test]
async fn the_shell_has_no_data_and_runs_nothing_but_its_own_scripts() {
    let world = World::with_container().await;
    let host = format!("host: {}\r\n", world.authority());
    for path in [
        "/",
        "/data/shop/orders",
        "/query/shop/orders?q=SELECT",
        "/page/main.js",
        "/page/app.css",
        "/page/pages/data.js",
    ] {
        let heard = world.send(&format!("GET {path}"), &host, "").await;
        assert_eq!(heard.status, 200, "{path}");
        for part in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';",
            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(heard.head.contains(part), "{path}: {part} is not in {}", heard.head);
        }
        assert!(!heard.body.contains("customer") || path.ends_with(".js"), "{path}");
        assert!(!heard.body.contains(world.secret()), "{path}");
        assert!(!heard.body.contains(" style=") && !heard.body.contains("innerHTML"), "{path}");
    }
    assert_eq!(world.send("GET /page/nothing.js", &host, "").await.status, 404);
    assert_eq!(world.send("GET /page/../Cargo.toml", &host, "").await.status, 404);
    assert_eq!(world.send("POST /", &host, "").await.status, 405);
    assert_eq!(world.send("GET /", "host: evil.example\r\n", "").await.status, 421);
}

#[tokio::test]
async fn what_cannot_be_read_is_named() {
    let world = World::start().await;
    for (method, path, body, status, part) in [
        ("GET", "nothing", "", 404, "nothing"),
        ("DELETE", "account/x", "", 404, "DELETE"),
        ("POST", "databases", "{", 400, "cannot be read"),
        ("POST", "databases", r#"{"id":"a","more":1}"#, 400, "more"),
        ("GET", "requests?after=x", "", 400, "after"),
        ("GET", "items/a/b?pk=contoso", "", 404, "contoso"),
        ("GET", "items/a%zz/b", "", 400, "percent"),
    ] {
        let heard = world.ask(method, path, body).await;
        // The container is not there either, which is found out first.
        let message = heard.message();
        assert_eq!(heard.status, status, "{path}: {message}");
        assert!(path.starts_with("items/a/") || message.contains(part), "{path}: {message}");
    }
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused() {
    let world = World::start().await;
    let heard = world.post("check", &format!("{{\"query\":\"{}\"}}", "x".repeat(9 * 1024 * 1024))).await;
    assert_eq!(heard.status, 413);
}
