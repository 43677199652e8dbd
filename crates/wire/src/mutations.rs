//! Bugs that are planted on purpose, for the simulator to find.
//!
//! They exist only in a build with `--cfg cosmonaut_mutations`; in every other [`mutation!`](crate::mutation) is `false`
//! when it is compiled. One is active at a time, in a whole process.

/// Whether a planted bug is active.
#[macro_export]
#[doc(hidden)]
macro_rules! mutation {
    ($name:literal) => {
        $crate::mutations::is_active($name)
    };
}

#[cfg(cosmonaut_mutations)]
static ACTIVE: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// Makes a planted bug active for as long as the process lives. The first call counts.
#[cfg(cosmonaut_mutations)]
pub fn activate(name: &str) {
    let _ = ACTIVE.set(name.to_owned());
}

/// Whether a planted bug is active.
#[cfg(cosmonaut_mutations)]
pub fn is_active(name: &str) -> bool {
    ACTIVE.get().is_some_and(|active| active == name)
}

/// No bug is planted in this build.
#[cfg(not(cosmonaut_mutations))]
#[inline(always)]
pub const fn is_active(_: &str) -> bool {
    false
}
