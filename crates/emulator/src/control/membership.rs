//! Regions that come and go.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cosmonaut_wire::RegionName;

use super::site::Listeners;
use super::{Control, no_port};
use crate::Failure;
use crate::engine::locks;
use crate::server::{BindError, Listener};

impl Control {
    /// Adds a region, the last in priority, with everything that the write region has. Returns its address.
    pub async fn add_region(&self, name: &str) -> Result<String, Failure> {
        let _changing = self.change.lock().await;
        let name: RegionName = name.parse().map_err(|error| Failure::bad_request(format!("{error}")))?;
        if self.engine.topology().region(&name).is_some() {
            return Err(Failure::conflict(format!("there is a region {:?} already", name.as_str())));
        }
        let rest = self.bind_next().await.map_err(no_port)?;
        let framed = if self.framed { Some(self.bind_next().await.map_err(no_port)?) } else { None };
        let listeners = Listeners { rest, framed };
        let engine = Arc::clone(&self.engine);
        let id = self.workers.finish(move || engine.add_region(name)).await?;
        self.set_default_links(id);
        // From here on the account lists it, and it answers.
        self.list(id, &listeners);
        self.serve(id, listeners);
        // A fault of all regions is one of this region too.
        self.settle().await?;
        Ok(self.addresses.url(id).unwrap_or_default())
    }

    /// Removes a region: the account does not list it any more, its port is closed, and faults of it are gone.
    pub async fn remove_region(&self, name: &str) -> Result<(), Failure> {
        let _changing = self.change.lock().await;
        let id = self.region(name)?;
        let engine = Arc::clone(&self.engine);
        self.workers.finish(move || engine.remove_region(id)).await?;
        self.addresses.remove(id);
        let removed = {
            let mut sites = locks::write(&self.sites);
            sites.iter().position(|site| site.region == id).map(|at| sites.remove(at))
        };
        if let Some(site) = removed {
            site.leave().await;
            self.gone_requests.fetch_add(site.gateway.requests.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.faults.remove(|active| active.region == Some(id));
        Ok(())
    }

    /// The port next to the last region's where the account has a block of them; any other if that is taken.
    async fn bind_next(&self) -> Result<Listener, BindError> {
        let wanted = *locks::lock(&self.next_port);
        let bind = |port| Listener::bind(self.sockets.clone(), &self.host, port);
        let listener = match bind(wanted).await {
            Err(error) if error.is_taken() && wanted != 0 => bind(0).await?,
            bound => bound?,
        };
        if wanted != 0 {
            *locks::lock(&self.next_port) = wanted.checked_add(1).unwrap_or(0);
        }
        Ok(listener)
    }
}
