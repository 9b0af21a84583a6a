//! Converts update masks and preconditions.

use prost_types::FieldMask;

use crate::proto::{self, precondition::State};
use crate::{
    Fields, Invalid, check, limits,
    policy::{MemoryPolicy, PolicyFields},
    precondition::Precondition,
};

/// The field of a request that has its mask.
const MASK: &str = "update_mask";

/// The fields that an update changes: those that its mask names, or without a mask those
/// that it sets.
#[derive(Clone, Debug)]
pub struct UpdateMask {
    given: bool,
    fields: Vec<&'static str>,
    policy: PolicyFields,
}

impl UpdateMask {
    /// Reads the mask of an update that can change the fields `changeable`. If `policy` is one
    /// of them, so are the policy's own fields. `is_set` says which fields the update sets.
    /// Paths that name no such field become errors in `errors`.
    ///
    /// # Errors
    /// Too many paths.
    pub fn read(
        errors: &mut Fields,
        mask: Option<FieldMask>,
        changeable: &'static [&'static str],
        is_set: impl Fn(&str) -> bool,
    ) -> Result<Self, Invalid> {
        let paths = paths_from(mask)?;
        if paths.is_empty() {
            let set = changeable.iter().copied().filter(|field| is_set(field));
            return Ok(Self {
                given: false,
                fields: set.collect(),
                policy: PolicyFields::Set,
            });
        }
        let mut read = Self {
            given: true,
            fields: Vec::new(),
            policy: PolicyFields::Named(Vec::new()),
        };
        for (index, path) in paths.iter().enumerate() {
            if changeable.contains(&"policy") && read.policy.add(path) {
                continue;
            }
            match changeable.iter().find(|field| *field == path) {
                Some(field) => read.fields.push(field),
                None => errors.take(Err(unknown_path(index, path, changeable))),
            }
        }
        Ok(read)
    }

    /// Whether the update has a mask.
    pub fn is_given(&self) -> bool {
        self.given
    }

    /// Whether the update changes no field but those of a policy.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Whether the update changes a field.
    pub fn names(&self, field: &str) -> bool {
        self.fields.contains(&field)
    }

    /// The fields of the policy that the update changes.
    pub fn policy(&self) -> &PolicyFields {
        &self.policy
    }
}

/// Reads the condition of a write: none if it is unset, `*` for an object that exists.
///
/// # Errors
/// An etag over its limit, and the state of an object that does not exist, unless the write
/// creates it.
pub fn precondition_from(
    precondition: Option<proto::Precondition>,
    creates: bool,
) -> Result<Precondition, Invalid> {
    match precondition.and_then(|precondition| precondition.state) {
        None => Ok(Precondition::Unchecked),
        Some(State::Absent(())) if creates => Ok(Precondition::Absent),
        Some(State::Absent(())) => Err(Invalid::new(
            "precondition.absent",
            "is only for calls that create the object",
        )),
        Some(State::Etag(etag)) => {
            let etag = check::text("precondition.etag", etag, limits::ETAG_CHARS)?;
            Ok(match etag.as_str() {
                "" => Precondition::Unchecked,
                "*" => Precondition::Exists,
                _ => Precondition::Etag(etag),
            })
        }
    }
}

/// Reads the paths of a mask; none if it is unset.
///
/// # Errors
/// Too many paths.
pub fn paths_from(mask: Option<FieldMask>) -> Result<Vec<String>, Invalid> {
    let paths = mask.unwrap_or_default().paths;
    check::mask(&paths)?;
    Ok(paths)
}

/// The error of an update without a mask that sets none of the fields `valid`.
pub fn nothing_to_change(valid: &[&str]) -> Invalid {
    let problem = format!("is required if none of {} is set", valid.join(", "));
    Invalid::new(MASK, problem)
}

/// The error of a path that names none of the fields `valid`. A path that begins with
/// `policy.` names an unknown field of a policy.
pub fn unknown_path(index: usize, path: &str, valid: &[&str]) -> Invalid {
    let problem = match path.starts_with("policy.") && valid.contains(&"policy") {
        true => {
            let fields = MemoryPolicy::FIELDS.join(", ");
            format!("must name a field of the policy: {fields}")
        }
        false => {
            let fields = match valid.contains(&"policy") {
                true => ", or a field of policy such as policy.top_k",
                false => "",
            };
            format!("must be one of {}{fields}", valid.join(", "))
        }
    };
    Invalid::new(format!("{MASK}.paths[{index}]"), problem)
}
