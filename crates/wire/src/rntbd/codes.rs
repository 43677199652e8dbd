//! The numbers by which frames name kinds of resources and operations.

macro_rules! codes {
    ($(#[$doc:meta])* $type:ident { $($(#[$case_doc:meta])* $case:ident = $code:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$case_doc])* $case,)+
        }

        impl $type {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$case),+];

            /// The number in a frame.
            pub const fn code(self) -> u16 {
                match self {
                    $(Self::$case => $code,)+
                }
            }

            /// What a number in a frame stands for.
            pub const fn from_code(code: u16) -> Option<Self> {
                match code {
                    $($code => Some(Self::$case),)+
                    _ => None,
                }
            }

            /// The service's name for it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$case => stringify!($case),)+
                }
            }
        }
    };
}

codes! {
    /// What a request is about.
    Resource {
        /// The connection itself.
        Connection = 0x00,
        /// A database.
        Database = 0x01,
        /// A container.
        Collection = 0x02,
        /// An item.
        Document = 0x03,
        /// An attachment.
        Attachment = 0x04,
        /// A user.
        User = 0x05,
        /// A permission.
        Permission = 0x06,
        /// A stored procedure.
        StoredProcedure = 0x07,
        /// A conflict.
        Conflict = 0x08,
        /// A trigger.
        Trigger = 0x09,
        /// A user-defined function.
        UserDefinedFunction = 0x0A,
        /// An offer.
        Offer = 0x0F,
        /// The account.
        DatabaseAccount = 0x14,
        /// A partition range.
        PartitionKeyRange = 0x16,
        /// A schema.
        Schema = 0x18,
        /// All items of a partition key.
        PartitionKey = 0x20,
        /// A client encryption key.
        ClientEncryptionKey = 0x23,
        /// A document of the service's own, of one partition.
        PartitionedSystemDocument = 0x26,
        /// A definition of a role.
        RoleDefinition = 0x27,
        /// An assignment of a role.
        RoleAssignment = 0x28,
        /// A document of the service's own.
        SystemDocument = 0x29,
        /// A batch over several partitions.
        DistributedTransactionBatch = 0x35,
    }
}

codes! {
    /// What is to be done.
    Operation {
        /// Make one.
        Create = 0x01,
        /// Change parts of one.
        Patch = 0x02,
        /// Read one.
        Read = 0x03,
        /// Read many, or what has changed.
        ReadFeed = 0x04,
        /// Delete one.
        Delete = 0x05,
        /// Replace one.
        Replace = 0x06,
        /// Run a stored procedure.
        ExecuteJavaScript = 0x08,
        /// A query, as older clients name it.
        SqlQuery = 0x09,
        /// A query.
        Query = 0x0F,
        /// Look whether one is there.
        Head = 0x11,
        /// Look whether there are any.
        HeadFeed = 0x12,
        /// Make or replace one.
        Upsert = 0x13,
        /// Several operations in one.
        Batch = 0x25,
        /// End a transaction over several partitions.
        CommitDistributedTransaction = 0x40,
        /// Give such a transaction up.
        AbortDistributedTransaction = 0x41,
        /// Ask how a query is to be run.
        QueryPlan = 0x42,
    }
}
