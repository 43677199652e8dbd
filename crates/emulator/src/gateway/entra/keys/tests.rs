//! Keys and tokens made by another program (openssl): one key signs [`SIGNED`], another one [`SIGNED_BY_OTHER`]. The first
//! key and its token are in files, since other tests use them too.

use super::*;

/// `{"typ":"JWT","alg":"RS256","kid":"one"}`, for https://cosmos.azure.com until the year 2100.
const SIGNED: &str = include_str!("../../../../tests/entra/signed.jwt");

/// The same by the other key.
const SIGNED_BY_OTHER: &str = "\
    eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImtpZCI6Im9uZSJ9.eyJhdWQiOiJodHRwczovL2Nvc21vcy5henVyZS5jb20iLCJleHAiOjQxM\
    DI0NDQ4MDB9.fsDThWxsdGNka5fa8J1Kug-knfnsa0YTppdN02EJn7eCXDUAH3r-MUrZoA--HDzoYqYzRP-BxvNnxMpzudHo4BEifoB50TiEZ5\
    lo7dKTjhm-TQoVKO-fQztvmPmUTNjkp_S3uQhZ2f0z-sDLt20h8Li5cNi0eeMfYiKKg2SAG_KJzAL73Dz9-rCEqhO3sue7EJUlNPQuNMp1e2ep\
    WpgZ2BeZE1ME20DnVh0n9HNgtq24B0_Hc4iEuwucQ0BhzB4AlHgxRQv0Xq2-NJIJcX9erX45RUvrezF_g-7i-cjchBMuEZU7bEhEScIB3x-8ka\
    eojNd2ZiAFzW-tP53VQOvEGg";

/// The modulus of the first key.
const MODULUS: &str = "\
    yBsgJzWLCS-bvCMqbOYXs_jQVtwRd1Et6tR9CDklMahEGts3N8wsDBRONStEDEasWStQFR5wdmvEI-uUo5u_lfZp3nmUCHEkKqnVE1jm6ZxxhB\
    DTAHiaRLVdaSxie3sRs-G4F4bxaxN2IXUNeqgmEKQGlDy9UY87gNMYjd1fDuP4V_bvWrrHcf0yk4mWGxCkE-KEZAoIjpO9id9kk8I9dy1JkmLk\
    StJWgIURQZnvtbE-A3VqlRYt8tO6lsM-NFJiOlYelPb5NxWk8Zb8EpLGSxedF2ppeM1PrE7kUGMxsq1W5WYYV7jX0qFMg1u_u7jtAeFl9LTcj6\
    KCbsOriNOz_w";

/// The first key.
const PUBLIC: &str = include_str!("../../../../tests/entra/public.pem");

/// The first key in the older form.
const RSA_PUBLIC: &str = "-----BEGIN RSA PUBLIC KEY-----
MIIBCgKCAQEAyBsgJzWLCS+bvCMqbOYXs/jQVtwRd1Et6tR9CDklMahEGts3N8ws
DBRONStEDEasWStQFR5wdmvEI+uUo5u/lfZp3nmUCHEkKqnVE1jm6ZxxhBDTAHia
RLVdaSxie3sRs+G4F4bxaxN2IXUNeqgmEKQGlDy9UY87gNMYjd1fDuP4V/bvWrrH
cf0yk4mWGxCkE+KEZAoIjpO9id9kk8I9dy1JkmLkStJWgIURQZnvtbE+A3VqlRYt
8tO6lsM+NFJiOlYelPb5NxWk8Zb8EpLGSxedF2ppeM1PrE7kUGMxsq1W5WYYV7jX
0qFMg1u/u7jtAeFl9LTcj6KCbsOriNOz/wIDAQAB
-----END RSA PUBLIC KEY-----
";

/// The other key.
const OTHER: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA0ocXJOLtJWLIqmasXD9U
JTnyryIvReMRx+4MF0A0kAHnsK2HgPsjV6eU1m39WFGuRrWfx8ii6Pi5vVHnCG3x
52OniWYXHGWuDrmBTItF9uBT2qEK/gjrS3pmgHCDX4dfertdDwPQ46X4Yhik66vY
I/qO/C7zBfGfGYm0Cf1mW45x7Gh8VVZQKcD7wrNyd5LOaz3BmNyTvq5oW0Sd/dcw
YZZDQK9ge/tyaVFVhXPoLCEc+HNiXEU/IyLh+2eBNU04dIMUNuGeszKXH8KfFGwn
B910wmEkSx4e/2MPr+Np2sHXG6svJcKcHLahPre6x0YladrAU8GgcDhrtMxlMW8S
0wIDAQAB
-----END PUBLIC KEY-----
";

/// A key of another kind.
const ELLIPTIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEA9T89en1ff4Yn/BCErhVGHgV/CH4
HFm0sXdiEJ7826W89+YyHeHE52Ck1NctCcvBK1/YuT8Mj1tOsmatj6xSQQ==
-----END PUBLIC KEY-----
";

fn has_signed(keys: &str, token: &str) -> bool {
    EntraKeys::read(keys).unwrap().have_signed(&Token::parse(token).unwrap())
}

fn web_key(name: &str) -> String {
    format!(r#"{{"kty":"RSA","kid":"{name}","n":"{MODULUS}","e":"AQAB"}}"#)
}

#[test]
fn a_key_knows_what_it_has_signed_in_every_form() {
    let set = |names: &[&str]| {
        let keys: Vec<_> = names.iter().map(|name| web_key(name)).collect();
        format!(r#"{{"keys":[{{"kty":"EC","crv":"P-256"}},{}]}}"#, keys.join(","))
    };
    for keys in [
        PUBLIC,
        RSA_PUBLIC,
        &format!("{OTHER}{PUBLIC}"),
        &web_key("one"),
        &set(&["one"]),
        &set(&["two", "one"]),
    ] {
        assert!(has_signed(keys, SIGNED), "{keys}");
    }
    assert!(has_signed(OTHER, SIGNED_BY_OTHER));
    // The key that a token names is the one that has signed it.
    for keys in [OTHER, &web_key("two"), &set(&["two"])] {
        assert!(!has_signed(keys, SIGNED), "{keys}");
    }
    assert!(!has_signed(&web_key("one"), SIGNED_BY_OTHER));
}

#[test]
fn what_was_altered_is_not_signed() {
    let (signed, signature) = SIGNED.rsplit_once('.').unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let (_, other) = SIGNED_BY_OTHER.rsplit_once('.').unwrap();
    let encode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let longer = encode(r#"{"aud":"https://cosmos.azure.com","exp":5102444800}"#);
    for altered in [
        format!("{header}.{longer}.{signature}"),
        format!("{}.{claims}.{signature}", encode(r#"{"alg":"none"}"#)),
        format!("{}.{claims}.{signature}", encode(r#"{"alg":"HS256"}"#)),
        format!("{header}.{claims}.{other}"),
        format!("{header}.{claims}.AAAA"),
        format!("{header}.{claims}.{}", "A".repeat(4096)),
    ] {
        assert!(!has_signed(PUBLIC, &altered), "{altered}");
    }
}

#[test]
fn what_is_no_key_is_refused() {
    let cut = |text: &'static str, end: usize| &text[..end];
    for text in [
        "",
        "{}",
        r#"{"keys":[]}"#,
        r#"{"keys":[{"kty":"RSA"}]}"#,
        r#"{"kty":"EC","x":"AA","y":"AA"}"#,
        "-----BEGIN PUBLIC KEY-----",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
        "-----BEGIN RSA PUBLIC KEY-----\nMIQ=\n-----END RSA PUBLIC KEY-----",
        cut(PUBLIC, 200),
        ELLIPTIC,
    ] {
        assert_eq!(EntraKeys::read(text).unwrap_err(), EntraKeysError, "{text}");
    }
    // Whatever a file holds, reading it comes to an end.
    let der =
        BASE64.decode(PUBLIC.lines().filter(|line| !line.starts_with('-')).collect::<String>()).unwrap();
    for at in 0..der.len() {
        for byte in [0, 0x30, 0x7f, 0x80, 0x84, 0xff] {
            let mut der = der.clone();
            der[at] = byte;
            let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----", BASE64.encode(der));
            if let Ok(keys) = EntraKeys::read(&pem) {
                let _ = keys.have_signed(&Token::parse(SIGNED).unwrap());
            }
        }
    }
}
