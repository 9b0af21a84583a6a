//! Memory spaces: apps that share the memory of each user.

use crate::{MemoryScope, ResolvedPolicy};

/// The apps that share the memory of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemorySpace {
    /// The app alone.
    App,
    /// All apps of the tenant that name this space.
    Named(String),
}

impl MemorySpace {
    /// The name of the space; `None` for the app alone.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::App => None,
            Self::Named(name) => Some(name),
        }
    }
}

impl From<String> for MemorySpace {
    fn from(name: String) -> Self {
        Self::Named(name)
    }
}

impl From<MemorySpace> for Option<String> {
    fn from(space: MemorySpace) -> Self {
        match space {
            MemorySpace::App => None,
            MemorySpace::Named(name) => Some(name),
        }
    }
}

impl ResolvedPolicy {
    /// Where no level sets a scope, an app with a memory space searches the space.
    pub(crate) fn with_default_scope(mut self) -> Self {
        let is_set = self.origins.iter().any(|(field, _)| *field == "scope");
        if !is_set && self.memory_space != MemorySpace::App {
            self.scope = MemoryScope::Space;
        }
        self
    }

    /// The memory space that a search extends over; `None`: the app alone.
    pub fn searched_space(&self) -> Option<&str> {
        match self.scope {
            MemoryScope::Space => self.memory_space.name(),
            MemoryScope::Thread | MemoryScope::User | MemoryScope::App => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryPolicy, PolicyLevel};

    #[test]
    fn an_app_with_a_space_searches_it_unless_a_level_sets_a_scope() {
        let searched = |space: Option<&str>, scope: Option<MemoryScope>| {
            let app = MemoryPolicy {
                memory_space: space.map(str::to_owned),
                ..MemoryPolicy::default()
            };
            let request = MemoryPolicy {
                scope,
                ..MemoryPolicy::default()
            };
            let levels = [(PolicyLevel::App, &app), (PolicyLevel::Request, &request)];
            let resolved = ResolvedPolicy::resolve(&levels);
            (resolved.scope, resolved.searched_space().map(str::to_owned))
        };
        let desk = Some("desk".to_owned());
        assert_eq!(searched(None, None), (MemoryScope::User, None));
        assert_eq!(searched(Some("desk"), None), (MemoryScope::Space, desk));
        for narrower in [MemoryScope::Thread, MemoryScope::User, MemoryScope::App] {
            let found = searched(Some("desk"), Some(narrower));
            assert_eq!(found, (narrower, None));
        }
        let without = searched(None, Some(MemoryScope::Space));
        assert_eq!(without, (MemoryScope::Space, None));
    }
}
