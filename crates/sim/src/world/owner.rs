//! What the account's owner changes while it is used: keys, where tokens come from, regions.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cosmonaut_emulator::{AccountKey, Failure};

use super::World;
use crate::fault_plan::FaultKind;
use crate::history::Happening;

/// How long a client waits at most before it asks for a token again.
const LONGEST_WAIT_FOR_A_TOKEN: Duration = Duration::from_secs(16);

impl World {
    /// Makes the key anew that processes have, and tells them the new one after a time; or, with care, the other key, which
    /// all processes are told of before their old one is made anew.
    ///
    /// # Errors
    /// The server is down, or a key is being changed already.
    pub async fn change_key(&self, with_care: bool, within: Duration) -> Result<(), Failure> {
        let credentials = &self.0.credentials;
        let Some((given, other)) = credentials.begin_change() else {
            return Err(Failure::conflict("a key is being changed already"));
        };
        let done = match with_care {
            true => self.change_with_care(given, other, within).await,
            false => self.change_without_care(given, within).await,
        };
        credentials.end_change();
        done
    }

    async fn change_without_care(&self, given: AccountKey, within: Duration) -> Result<(), Failure> {
        let at = self.now();
        self.regenerate(given)?;
        self.sleep(within).await;
        let credentials = &self.0.credentials;
        credentials.give(given).iter().for_each(|holder| credentials.tell(holder));
        self.happened_at(at, Happening::KeyLapsed);
        Ok(())
    }

    async fn change_with_care(
        &self,
        given: AccountKey,
        other: AccountKey,
        within: Duration,
    ) -> Result<(), Failure> {
        self.regenerate(other)?;
        let credentials = &self.0.credentials;
        let holders = credentials.give(other);
        let pause = within / u32::try_from(holders.len()).unwrap_or(1).max(1);
        for holder in holders {
            credentials.tell(&holder);
            self.sleep(pause).await;
        }
        let at = self.now();
        self.regenerate(given)?;
        self.happened_at(at, Happening::KeyLapsed);
        Ok(())
    }

    fn regenerate(&self, which: AccountKey) -> Result<(), Failure> {
        if self.0.emulator.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return Err(Failure::conflict("the server is down"));
        }
        let key = self.control().regenerate_key(which)?;
        self.0.credentials.replaced(which, key);
        Ok(())
    }

    /// Tokens come so much later for a time, or not at all.
    pub async fn disturb_tokens(&self, what: &FaultKind, delay_ms: u64, is_down: bool, lasts: Duration) {
        self.0.credentials.disturb_tokens(delay_ms, is_down);
        self.lasts(what, lasts).await;
        self.0.credentials.disturb_tokens(0, false);
        self.0.credentials.were_of_no_use(true);
        self.sleep(LONGEST_WAIT_FOR_A_TOKEN).await;
        self.0.credentials.were_of_no_use(false);
    }

    /// Takes a region away and, after a time if one is given, adds it again.
    ///
    /// # Errors
    /// It takes writes, or what it has cannot be handed over.
    pub async fn remove_region(&self, region: &str, back_after: Option<Duration>) -> Result<(), Failure> {
        let at = self.now();
        self.control().remove_region(region).await?;
        self.happened_at(at, Happening::RegionRemoved(region.to_owned()));
        let Some(time) = back_after else { return Ok(()) };
        self.sleep(time).await;
        self.add_region(region).await
    }

    /// Adds a region.
    ///
    /// # Errors
    /// It is there, or the server was started again.
    pub async fn add_region(&self, region: &str) -> Result<(), Failure> {
        if self.0.restarts.load(Ordering::Relaxed) > 0 {
            // It could be given the address that another region had before, at which clients may still look for that one.
            return Err(Failure::conflict("the server was started again"));
        }
        self.control().add_region(region).await?;
        self.happened(Happening::Fault(format!("{region} joins")));
        Ok(())
    }
}
