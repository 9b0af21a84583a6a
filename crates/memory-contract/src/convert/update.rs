//! Converts update masks and preconditions.

use prost_types::FieldMask;

use crate::proto::{self, precondition::State};
use crate::{Invalid, MemoryPolicy, Precondition, check, limits};

/// The field of a request that has its mask.
const MASK: &str = "update_mask";

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
