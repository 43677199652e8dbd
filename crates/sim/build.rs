//! Lets the dynamic linker find this program's `getrandom`, which some crates look up by name.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=getrandom");
    }
}
