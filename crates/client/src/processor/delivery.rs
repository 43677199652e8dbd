//! How a page gets to its handler: changes are read, those that cannot be go to their own handler, and a panic is a
//! failure like any other.

use std::error::Error as StdError;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use cosmonaut_driver::CosmosResponse;
use cosmonaut_driver::transport::BoxFuture;

use super::changes::{Changes, ChangesContext, Poison};
use crate::change_feed::{CHANGE, changes_in};
use crate::{Error, FromItem, RawItem, Result};

/// What a handler may fail with: any error, by `?`.
///
/// ```
/// fn handle(text: &str) -> Result<u32, cosmonaut::HandlerError> {
///     Ok(text.parse()?)
/// }
/// assert!(handle("seven").is_err());
/// ```
pub type HandlerError = Box<dyn StdError + Send + Sync>;

/// A function that is given a `T` and may take its time.
pub(super) type Handler<T> = Arc<dyn Fn(T) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync>;

/// What takes pages of changes of any type.
pub(super) trait Deliver: Send + Sync {
    /// Hands a page over, and returns when it was handled.
    fn deliver(
        &self,
        context: ChangesContext,
        page: CosmosResponse,
    ) -> BoxFuture<'_, Result<(), NotDelivered>>;
}

/// Why a page was not handled.
pub(super) enum NotDelivered {
    /// A handler has failed.
    Handler(HandlerError),
    /// The page, or a change in it, cannot be read.
    Unreadable(Error),
}

/// Takes pages of changes of the type `C`.
pub(super) struct Delivery<C> {
    pub(super) handler: Handler<Changes<C>>,
    pub(super) poison: Option<Handler<Poison>>,
    /// Whether the handler says itself what was handled, and has to see pages of which nothing is left.
    pub(super) sees_empty_pages: bool,
}

impl<C: FromItem + Send + 'static> Deliver for Delivery<C> {
    fn deliver(
        &self,
        context: ChangesContext,
        page: CosmosResponse,
    ) -> BoxFuture<'_, Result<(), NotDelivered>> {
        Box::pin(async move {
            // Reading runs code of the application too.
            let sorted = catch_unwind(AssertUnwindSafe(|| self.sort(&context, &page)));
            drop(page);
            let sorted = sorted.map_err(|panic| NotDelivered::Handler(panicked(panic)))?;
            let (items, poison) = sorted.map_err(NotDelivered::Unreadable)?;
            for poison in poison {
                let Some(handler) = &self.poison else { return Err(NotDelivered::Unreadable(poison.error)) };
                caught(|| handler(poison)).await.map_err(NotDelivered::Handler)?;
            }
            if items.is_empty() && !self.sees_empty_pages {
                return Ok(());
            }
            let changes = Changes { items, context };
            caught(|| (self.handler)(changes)).await.map_err(NotDelivered::Handler)
        })
    }
}

impl<C: FromItem> Delivery<C> {
    /// The changes of a page, and those that are none.
    fn sort(&self, context: &ChangesContext, page: &CosmosResponse) -> Result<(Vec<C>, Vec<Poison>)> {
        let (mut items, mut poison) = (Vec::new(), Vec::new());
        for change in changes_in(page)? {
            match C::from_json(&change, CHANGE) {
                Ok(item) => items.push(item),
                Err(error) => {
                    // A copy: whoever keeps the change is not to keep all of the page.
                    let json = RawItem::from(change.to_vec());
                    poison.push(Poison { lease: context.lease().to_owned(), json, error });
                }
            }
        }
        Ok((items, poison))
    }
}

/// Runs a handler; a panic is its error.
async fn caught<F>(start: impl FnOnce() -> F) -> Result<(), HandlerError>
where
    F: Future<Output = Result<(), HandlerError>>,
{
    let running = catch_unwind(AssertUnwindSafe(start)).map_err(panicked)?;
    let mut running = pin!(running);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context))) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(Err(panicked(panic))),
    })
    .await
}

fn panicked(panic: Box<dyn std::any::Any + Send>) -> HandlerError {
    let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("it panicked: {}", said.as_deref().unwrap_or("it did not say why")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_of_the_handler() {
        let at_once = caught(|| -> std::future::Ready<Result<(), HandlerError>> { panic!("at once") }).await;
        assert!(at_once.unwrap_err().to_string().contains("at once"));
        let later = caught(|| async {
            tokio::task::yield_now().await;
            panic!("later {}", 1)
        });
        assert!(later.await.unwrap_err().to_string().contains("later 1"));
        assert!(caught(|| async { Ok(()) }).await.is_ok());
        assert_eq!(caught(|| async { Err("no".into()) }).await.unwrap_err().to_string(), "no");
    }
}
