//! Everything the derive takes, from a crate that is not its own, with nothing of it in scope.
#![deny(warnings, missing_docs)]
#![allow(non_camel_case_types)]

/// Names that generated code must not trip over.
pub mod shadowed {
    /// Not the prelude's.
    pub type Result = ();
    /// Not the prelude's.
    pub struct Some;
    /// Not the prelude's.
    pub struct String;
    /// Not the prelude's.
    pub struct Vec;

    /// A group.
    #[derive(cosmonaut_options::CosmosOptions)]
    #[options(layers(operation, account, runtime))]
    pub struct Outer {
        /// A number.
        #[option(env = "OUTER_NUMBER", env_alias = "OUTER_OLD_NUMBER", env_override)]
        #[option(default = 1 + 1, check = small)]
        pub number: std::option::Option<u32>,
        /// A text.
        pub r#type: Option<std::string::String>,
        /// Tags.
        #[option(merge = "extend", env = "OUTER_TAGS")]
        pub tags: Option<std::collections::HashSet<std::string::String>>,
        /// A group inside.
        #[option(nested)]
        pub inner: Option<Inner>,
    }

    /// Another group.
    #[derive(Clone, Debug, cosmonaut_options::CosmosOptions)]
    #[options(layers(runtime, account, operation))]
    pub struct Inner {
        /// A time.
        #[option(env = "INNER_TIME", parse = cosmonaut_options::value::duration::seconds)]
        pub time: Option<std::time::Duration>,
    }

    fn small(number: &u32) -> std::result::Result<(), cosmonaut_options::Expected> {
        if *number < 10 { Ok(()) } else { Err(cosmonaut_options::Expected::new("below 10")) }
    }
}

mod private {
    #[derive(cosmonaut_options::CosmosOptions)]
    #[options(layers(operation))]
    struct Unseen {
        flag: Option<bool>,
    }

    pub(crate) fn flag() -> Option<bool> {
        Unseen::default().flag
    }
}

fn main() {
    use shadowed::{Outer, OuterView};

    assert_eq!(private::flag(), None);
    let env = Outer::from_env(&|name: &str| (name == "OUTER_OLD_NUMBER").then(|| "7".into())).unwrap();
    let none = Outer::default();
    let view = OuterView::new(&env, &none, &none, &none);
    assert_eq!(view.number(), 7);
    assert_eq!(view.r#type(), None);
    assert_eq!(view.inner().time(), None);
    assert!(Outer::from_env(&|_: &str| Some("99".into())).is_err());
}
