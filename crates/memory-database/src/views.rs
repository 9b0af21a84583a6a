//! Views of the databases: each has the methods of one noun.

/// Defines views with the methods of one noun for one caller, and what a view keeps in this
/// process beside the databases, if anything.
#[macro_export]
macro_rules! views {
    ($($(#[$doc:meta])* $view:ident $({ $($kept:ident: $of:ty),+ })?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $view<'a> {
            pub(crate) store: &'a $crate::Databases,
            $($(pub(crate) $kept: &'a $of,)+)?
            pub(crate) caller: &'a $crate::Caller,
        }

        impl<'a> $view<'a> {
            /// The view of a caller.
            pub fn new(
                store: &'a $crate::Databases,
                $($($kept: &'a $of,)+)?
                caller: &'a $crate::Caller,
            ) -> Self {
                Self { store, $($($kept,)+)? caller }
            }
        }
    )*};
}

/// Defines views with the work on one noun for all tenants, like [`views!`].
#[macro_export]
macro_rules! worker_views {
    ($($(#[$doc:meta])* $view:ident $({ $($kept:ident: $of:ty),+ })?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $view<'a> {
            pub(crate) workers: &'a $crate::Workers,
            pub(crate) store: &'a $crate::Databases,
            $($(pub(crate) $kept: &'a $of,)+)?
        }

        impl<'a> $view<'a> {
            /// Finds the work through `workers`, and does it through `store` where that sees content.
            pub fn new(
                workers: &'a $crate::Workers,
                store: &'a $crate::Databases,
                $($($kept: &'a $of,)+)?
            ) -> Self {
                Self { workers, store, $($($kept,)+)? }
            }
        }
    )*};
}
