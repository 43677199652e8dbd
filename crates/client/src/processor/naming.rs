//! How the documents of a processor are named in its lease container, as .NET names them.

use cosmonaut_wire::{EpkRange, ResourceId};

/// The names of the documents of one processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    prefix: String,
    container: ResourceId,
}

impl Names {
    /// The names for a processor of a container. `host` is the host of the endpoint that the client was given,
    /// without a port.
    pub(super) fn new(processor: &str, host: &str, container: ResourceId) -> Self {
        let database = container.parent().map(|database| database.to_string()).unwrap_or_default();
        Self { prefix: format!("{processor}{host}_{database}_{container}"), container }
    }

    /// The container whose changes are read.
    pub(super) fn container(&self) -> ResourceId {
        self.container
    }

    /// What the ids of all leases begin with.
    pub(super) fn lease_prefix(&self) -> String {
        format!("{}..", self.prefix)
    }

    /// The id of a lease.
    pub(super) fn lease(&self, token: &str) -> String {
        format!("{}..{token}", self.prefix)
    }

    /// The id of the document that says that the leases have been created.
    pub(super) fn marker(&self) -> String {
        format!("{}.info", self.prefix)
    }

    /// The id of the document that its creator holds while it creates the leases.
    pub(super) fn lock(&self) -> String {
        format!("{}.lock", self.prefix)
    }
}

/// The token of a lease for a stretch of the key space.
pub(super) fn range_token(range: &EpkRange) -> String {
    format!("{}-{}", range.min, range.max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_named_as_net_names_them() {
        let names = Names::new("billing", "shop.documents.azure.com", ResourceId::container(1, 2));
        let (database, container) =
            (ResourceId::database(1).to_string(), ResourceId::container(1, 2).to_string());
        let prefix = format!("billingshop.documents.azure.com_{database}_{container}");
        assert_eq!(names.lease_prefix(), format!("{prefix}.."));
        assert_eq!(names.lease("0"), format!("{prefix}..0"));
        assert_eq!(names.marker(), format!("{prefix}.info"));
        assert_eq!(names.lock(), format!("{prefix}.lock"));
        assert_eq!(range_token(&EpkRange::FULL), "-FF");
    }
}
