//! Panics of the storage engine, which meets what no version of it has written: they become errors, and print nothing.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Does something with the storage engine; fails with the words of its panic.
///
/// What the engine was doing is half done then: it is to be dropped, also under guard.
pub(super) fn guarded<T>(what: impl FnOnce() -> T) -> Result<T, String> {
    hide_guarded_panics();
    let outer = GUARDED.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(what));
    GUARDED.set(outer);
    outcome.map_err(|panic| format!("the storage engine gave up: {}", words_of(&*panic)))
}

/// Keeps panics that are caught here from being printed; all others are left to the hook that was there.
fn hide_guarded_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.try_with(Cell::get).unwrap_or(false) {
                previous(info);
            }
        }));
    });
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it panicked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_words() {
        assert_eq!(guarded(|| 5), Ok(5));
        for outcome in [guarded(|| panic!("plain words")), guarded(|| panic!("{} words", "built"))] {
            let error: String = outcome.map(|()| "none".to_owned()).unwrap_err();
            assert!(error.ends_with("words"), "{error}");
        }
    }
}
