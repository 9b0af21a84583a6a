//! A policy as the configuration of a server states it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fields::policy_fields;
use crate::convert::exact_duration;
use crate::{
    duration_text,
    file::{FileDelivery, FileType, ImageDetail},
    memory::MemoryKind,
    policy::{
        ExtractionStrategy, MemoryMode, MemoryPolicy, MemoryScope, Redaction, ResolvedPolicy,
        SensitiveKind,
    },
    proto,
};

macro_rules! define_settings {
    ($(
        $(#[$doc:meta])*
        $field:ident: $type:ty $(as $resolved:ty)? = $default:expr;
            read: $read:expr, $level:ident $(, setting: $(#[$setting:meta])+)?;
    )*) => {
        /// The fields of a policy as a person writes them. Where a policy has a form without a
        /// value, zero or an empty text stands for it. Values are not checked.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct PolicySettings {
            $(
                $(#[$doc])*
                $($(#[$setting])+)?
                pub $field: <$type as Setting>::Stated,
            )*
        }

        impl Default for PolicySettings {
            /// The documented defaults. The scope is unset: its default depends on the app.
            fn default() -> Self {
                let defaults = MemoryPolicy::from(ResolvedPolicy::default());
                let settings = Self { $($field: Setting::stated(defaults.$field),)* };
                Self { scope: None, ..settings }
            }
        }

        impl From<&PolicySettings> for proto::MemoryPolicy {
            fn from(settings: &PolicySettings) -> Self {
                Self {
                    $($field: match stands_for_none!(settings.$field $(, $resolved)?) {
                        true => Default::default(),
                        false => <$type as Setting>::wire(settings.$field.clone()),
                    },)*
                }
            }
        }
    };
}

macro_rules! stands_for_none {
    ($stated:expr) => {
        false
    };
    ($stated:expr, $resolved:ty) => {
        is_default(&$stated)
    };
}

policy_fields!(define_settings);

fn is_default<T: Default + PartialEq>(stated: &T) -> bool {
    *stated == T::default()
}

/// A duration that is written as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DurationText(#[serde(with = "duration_text")] pub Duration);

/// A type of fields: how it is written, and how the contract has it.
pub trait Setting: Sized {
    /// What a person writes.
    type Stated;
    /// What the contract has.
    type Wire;

    /// How a value is written.
    fn stated(value: Option<Self>) -> Self::Stated;

    /// The value, which may be one that a policy cannot have.
    fn wire(stated: Self::Stated) -> Self::Wire;
}

macro_rules! written_as_itself {
    ($($type:ty),*) => {$(
        impl Setting for $type {
            type Stated = Self;
            type Wire = Option<Self>;

            fn stated(value: Option<Self>) -> Self {
                value.unwrap_or_default()
            }

            fn wire(stated: Self) -> Option<Self> {
                Some(stated)
            }
        }
    )*};
}

written_as_itself!(bool, String);

impl Setting for u32 {
    // A negative number is refused with the limits of the field.
    type Stated = i32;
    type Wire = Option<i32>;

    fn stated(value: Option<Self>) -> i32 {
        value.unwrap_or_default().cast_signed()
    }

    fn wire(stated: i32) -> Option<i32> {
        Some(stated)
    }
}

impl Setting for f32 {
    type Stated = f64;
    type Wire = Option<f32>;

    /// 0.7 and not 0.699999988.
    fn stated(value: Option<Self>) -> f64 {
        let value = value.unwrap_or_default();
        value.to_string().parse().unwrap_or(value.into())
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "policies have single precision"
    )]
    fn wire(stated: f64) -> Option<f32> {
        Some(stated as f32)
    }
}

impl Setting for Duration {
    type Stated = DurationText;
    type Wire = Option<prost_types::Duration>;

    fn stated(value: Option<Self>) -> DurationText {
        DurationText(value.unwrap_or_default())
    }

    fn wire(DurationText(stated): DurationText) -> Self::Wire {
        Some(exact_duration(stated))
    }
}

impl Setting for MemoryScope {
    type Stated = Option<Self>;
    type Wire = i32;

    fn stated(value: Option<Self>) -> Option<Self> {
        value
    }

    fn wire(stated: Option<Self>) -> i32 {
        stated.map_or(0, |scope| proto::RecallScope::from(scope).into())
    }
}

// No configuration has them.
impl Setting for Vec<MemoryKind> {
    type Stated = Self;
    type Wire = Vec<proto::MemoryKind>;

    fn stated(value: Option<Self>) -> Self {
        value.unwrap_or_default()
    }

    fn wire(stated: Self) -> Vec<proto::MemoryKind> {
        stated.into_iter().map(Into::into).collect()
    }
}

impl Setting for Vec<String> {
    type Stated = Self;
    type Wire = Self;

    fn stated(value: Option<Self>) -> Self {
        value.unwrap_or_default()
    }

    fn wire(stated: Self) -> Self {
        stated
    }
}

macro_rules! written_by_name {
    ($($type:ident),*) => {$(
        impl Setting for $type {
            type Stated = Self;
            type Wire = i32;

            fn stated(value: Option<Self>) -> Self {
                value.unwrap_or_default()
            }

            fn wire(stated: Self) -> i32 {
                proto::$type::from(stated).into()
            }
        }
    )*};
}

written_by_name!(
    MemoryMode,
    ExtractionStrategy,
    FileDelivery,
    ImageDetail,
    Redaction
);

macro_rules! written_by_names {
    ($($type:ident),*) => {$(
        impl Setting for Vec<$type> {
            type Stated = Self;
            type Wire = Vec<i32>;

            fn stated(value: Option<Self>) -> Self {
                value.unwrap_or_default()
            }

            fn wire(stated: Self) -> Vec<i32> {
                let values = stated.into_iter();
                values.map(|value| proto::$type::from(value).into()).collect()
            }
        }
    )*};
}

written_by_names!(FileType, SensitiveKind);
