//! Memory spaces: apps that share the memory of each user.

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
