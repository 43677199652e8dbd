//! JavaScript that runs in the service: stored procedures, triggers and user-defined functions of a container.
//!
//! Triggers run when an item write names them; see [`ItemOptions::pre_trigger`](crate::ItemOptions::pre_trigger).

mod execute;
mod model;
mod resource;

use cosmonaut_wire::PartitionKey;
use serde::Serialize;

use crate::options::{
    CreateScriptOptions, DeleteScriptOptions, ExecuteOptions, ReadScriptOptions, ReplaceScriptOptions,
};
use crate::{ContainerClient, FromItem, Items, Request, Response};

use resource::{create_script, delete_script, list_scripts, read_script, replace_script};

pub(crate) use execute::script_log;
pub(crate) use model::words;
pub use model::{
    StoredProcedure, SystemMembers, Trigger, TriggerOperation, TriggerType, UserDefinedFunction,
};

/// The stored procedures, triggers and user-defined functions of a container. Cheap to clone.
///
/// ```
/// # use cosmonaut::{ContainerProperties, CosmosClient, Credential};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let emulator = cosmonaut_emulator::Emulator::builder().start().await?;
/// # let client = CosmosClient::new(emulator.url(), Credential::master_key(emulator.key())?)?;
/// # client.create_database("shop").await?;
/// # client.database("shop").create_container(ContainerProperties::new("orders", "/customer")).await?;
/// # let orders = client.database("shop").container("orders");
/// use cosmonaut::StoredProcedure;
///
/// let body = "function (name) { getContext().getResponse().setBody('Hello, ' + name); }";
/// let scripts = orders.scripts();
/// scripts.create_stored_procedure(StoredProcedure::new("hello", body)).await?;
/// let said: String = scripts.execute("hello", "contoso", ("Ada",)).await?.into_value();
/// assert_eq!(said, "Hello, Ada");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Scripts {
    container: ContainerClient,
}

impl ContainerClient {
    /// The container's stored procedures, triggers and user-defined functions.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let total: f64 = orders.scripts().execute("total", "contoso", (2026, "EUR")).await?.into_value();
    /// # Ok(())
    /// # }
    /// ```
    pub fn scripts(&self) -> Scripts {
        Scripts { container: self.clone() }
    }
}

impl Scripts {
    /// Runs a stored procedure on the items of one partition key. The arguments are a tuple or a list; `()` is none.
    ///
    /// All that the procedure writes is written in one transaction, or nothing if it fails. An execution is repeated
    /// only if it certainly has changed nothing. A procedure that sets no answer answers with an empty text; with
    /// `serde::de::IgnoredAny` as `T`, the answer may be anything.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let moved = orders.scripts().execute::<u32>("move", "contoso", ("ready", "sent")).enable_logging(true).await?;
    /// println!("{} for {:.2} RU: {:?}", moved.value(), moved.request_charge(), moved.script_log());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name,
    /// [`ErrorKind::BadRequest`](crate::ErrorKind::BadRequest) if it throws: the sub-status of
    /// [`Error::status`](crate::Error::status) is the number that it gives.
    pub fn execute<T: FromItem + 'static>(
        &self,
        id: &str,
        partition_key: impl Into<PartitionKey>,
        arguments: impl Serialize,
    ) -> Request<ExecuteOptions, Response<T>> {
        execute::execute(&self.container, id, partition_key.into(), arguments)
    }

    /// Creates a stored procedure. Its source is compiled when it runs first: an error in it shows there.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::StoredProcedure;
    ///
    /// let made = StoredProcedure::new("hello", "function () {}");
    /// orders.scripts().create_stored_procedure(made).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if there is one of this name.
    pub fn create_stored_procedure(
        &self,
        stored_procedure: StoredProcedure,
    ) -> Request<CreateScriptOptions, Response<StoredProcedure>> {
        create_script(&self.container, stored_procedure)
    }

    /// Reads a stored procedure.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name.
    pub fn read_stored_procedure(&self, id: &str) -> Request<ReadScriptOptions, Response<StoredProcedure>> {
        read_script(&self.container, id)
    }

    /// Replaces the stored procedure of the same name.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name,
    /// [`ErrorKind::PreconditionFailed`](crate::ErrorKind::PreconditionFailed) if it is of another version than
    /// [`if_match`](ReplaceScriptOptions::if_match) names.
    pub fn replace_stored_procedure(
        &self,
        stored_procedure: StoredProcedure,
    ) -> Request<ReplaceScriptOptions, Response<StoredProcedure>> {
        replace_script(&self.container, stored_procedure)
    }

    /// Deletes a stored procedure.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name,
    /// [`ErrorKind::PreconditionFailed`](crate::ErrorKind::PreconditionFailed) if it is of another version than
    /// [`if_match`](DeleteScriptOptions::if_match) names.
    pub fn delete_stored_procedure(&self, id: &str) -> Request<DeleteScriptOptions, Response<()>> {
        delete_script::<StoredProcedure>(&self.container, id)
    }

    /// All stored procedures.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// for found in orders.scripts().list_stored_procedures().collect().await? {
    ///     println!("{}", found.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_stored_procedures(&self) -> Items<StoredProcedure> {
        list_scripts(&self.container)
    }

    /// Creates a trigger. Its source is compiled when it runs first: an error in it shows there.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::{Trigger, TriggerOperation, TriggerType};
    ///
    /// let made = Trigger::new("mark", TriggerType::Pre, TriggerOperation::Create, "function () {}");
    /// orders.scripts().create_trigger(made).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if there is one of this name.
    pub fn create_trigger(&self, trigger: Trigger) -> Request<CreateScriptOptions, Response<Trigger>> {
        create_script(&self.container, trigger)
    }

    /// Reads a trigger.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name.
    pub fn read_trigger(&self, id: &str) -> Request<ReadScriptOptions, Response<Trigger>> {
        read_script(&self.container, id)
    }

    /// Replaces the trigger of the same name.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name,
    /// [`ErrorKind::PreconditionFailed`](crate::ErrorKind::PreconditionFailed) if it is of another version than
    /// [`if_match`](ReplaceScriptOptions::if_match) names.
    pub fn replace_trigger(&self, trigger: Trigger) -> Request<ReplaceScriptOptions, Response<Trigger>> {
        replace_script(&self.container, trigger)
    }

    /// Deletes a trigger.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name,
    /// [`ErrorKind::PreconditionFailed`](crate::ErrorKind::PreconditionFailed) if it is of another version than
    /// [`if_match`](DeleteScriptOptions::if_match) names.
    pub fn delete_trigger(&self, id: &str) -> Request<DeleteScriptOptions, Response<()>> {
        delete_script::<Trigger>(&self.container, id)
    }

    /// All triggers.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// for found in orders.scripts().list_triggers().collect().await? {
    ///     println!("{}", found.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_triggers(&self) -> Items<Trigger> {
        list_scripts(&self.container)
    }

    /// Creates a user-defined function. Its source is compiled when it runs first: an error in it shows there.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::UserDefinedFunction;
    ///
    /// let made = UserDefinedFunction::new("gross", "function (net) { return net * 1.19; }");
    /// orders.scripts().create_user_defined_function(made).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if there is one of this name.
    pub fn create_user_defined_function(
        &self,
        user_defined_function: UserDefinedFunction,
    ) -> Request<CreateScriptOptions, Response<UserDefinedFunction>> {
        create_script(&self.container, user_defined_function)
    }

    /// Reads a user-defined function.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name.
    pub fn read_user_defined_function(
        &self,
        id: &str,
    ) -> Request<ReadScriptOptions, Response<UserDefinedFunction>> {
        read_script(&self.container, id)
    }

    /// Replaces the user-defined function of the same name.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name,
    /// [`ErrorKind::PreconditionFailed`](crate::ErrorKind::PreconditionFailed) if it is of another version than
    /// [`if_match`](ReplaceScriptOptions::if_match) names.
    pub fn replace_user_defined_function(
        &self,
        user_defined_function: UserDefinedFunction,
    ) -> Request<ReplaceScriptOptions, Response<UserDefinedFunction>> {
        replace_script(&self.container, user_defined_function)
    }

    /// Deletes a user-defined function.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name,
    /// [`ErrorKind::PreconditionFailed`](crate::ErrorKind::PreconditionFailed) if it is of another version than
    /// [`if_match`](DeleteScriptOptions::if_match) names.
    pub fn delete_user_defined_function(&self, id: &str) -> Request<DeleteScriptOptions, Response<()>> {
        delete_script::<UserDefinedFunction>(&self.container, id)
    }

    /// All user-defined functions.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// for found in orders.scripts().list_user_defined_functions().collect().await? {
    ///     println!("{}", found.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_user_defined_functions(&self) -> Items<UserDefinedFunction> {
        list_scripts(&self.container)
    }
}
