//! Decides whether a history may have happened.
//!
//! It shares no code with client, driver, emulator or durable provider: it knows what callers saw, and nothing else.
