//! Items on their way in and out of containers: what `export`, `import` and `copy` have in common.

pub(crate) mod apply;
pub(crate) mod bar;
pub(crate) mod checkpoint;
pub(crate) mod csv;
pub(crate) mod definition;
pub(crate) mod form;
pub(crate) mod lock;
pub(crate) mod members;
pub(crate) mod place;
pub(crate) mod reader;
pub(crate) mod sink;
pub(crate) mod told;
