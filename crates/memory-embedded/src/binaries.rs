//! Finds the programs of Postgres.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::EmbeddedError;

/// The oldest major version that the schema works with.
pub const OLDEST_MAJOR: u32 = 14;

/// Directories whose `*/bin` hold a version each.
const VERSIONED: [&str; 3] = [
    "/usr/lib/postgresql",
    "/usr/local/lib/postgresql",
    "/Applications/Postgres.app/Contents/Versions",
];

/// Directories with one folder `postgresql@VERSION` (or `pgsql-VERSION`) each.
const NAMED: [(&str, &str); 4] = [
    ("/opt/homebrew/opt", "postgresql@"),
    ("/usr/local/opt", "postgresql@"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql@"),
    ("/usr", "pgsql-"),
];

/// The programs of one Postgres version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// The directory that holds `initdb` and `postgres`.
    pub dir: PathBuf,
    /// The major version, such as 15.
    pub major: u32,
    /// The version that the programs report, such as `15.18`.
    pub version: String,
}

impl Binaries {
    /// Finds the programs: in `chosen` alone where it is given; otherwise the newest major version
    /// of those that came with this program, on the `PATH` and where packages put them. Of the same
    /// major version, those that came with this program are taken.
    ///
    /// `major` is the version that an existing cluster needs.
    ///
    /// # Errors
    /// [`EmbeddedError::NoPostgres`], with the places that were looked at.
    pub fn find(chosen: Option<&Path>, major: Option<u32>) -> Result<Self, EmbeddedError> {
        let package = memory_runtime::package_dir().map(|dir| dir.join("postgres/bin"));
        let places = match chosen {
            Some(dir) => vec![dir.to_owned()],
            None => places(package.as_deref()),
        };
        let found = places.iter().filter_map(|dir| Self::inspect(dir)).collect();
        Self::best(found, major).ok_or_else(|| EmbeddedError::NoPostgres {
            major,
            searched: match chosen {
                Some(dir) => dir.display().to_string(),
                None => searched(package.as_deref()),
            },
        })
    }

    /// The newest major version that fits; of several, the first.
    fn best(mut found: Vec<Self>, major: Option<u32>) -> Option<Self> {
        found.retain(|binaries| match major {
            Some(major) => binaries.major == major,
            None => binaries.major >= OLDEST_MAJOR,
        });
        // A stable sort.
        found.sort_by_key(|binaries| std::cmp::Reverse(binaries.major));
        found.into_iter().next()
    }

    /// The path of `initdb`.
    pub fn initdb(&self) -> PathBuf {
        self.dir.join("initdb")
    }

    /// The path of `postgres`.
    pub fn postgres(&self) -> PathBuf {
        self.dir.join("postgres")
    }

    fn inspect(dir: &Path) -> Option<Self> {
        // Links on the PATH are followed, so that the programs find the files
        // that belong to them.
        let postgres = dir.join("postgres").canonicalize().ok()?;
        let dir = postgres.parent()?.to_owned();
        if !dir.join("initdb").exists() {
            return None;
        }
        let output = Command::new(&postgres).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = version_in(&text)?;
        let major = version.split(['.', 'b', 'r', 'd']).next()?.parse().ok()?;
        Some(Self {
            dir,
            major,
            version,
        })
    }
}

/// Where the programs may be: first in the package.
fn places(package: Option<&Path>) -> Vec<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "where the system keeps things")]
    let path = env::var_os("PATH");
    let on_path = path.iter().flat_map(env::split_paths);
    let mut places: Vec<PathBuf> = package.map(Path::to_owned).into_iter().collect();
    places.extend(on_path);
    for root in VERSIONED {
        places.extend(
            entries(Path::new(root))
                .into_iter()
                .map(|dir| dir.join("bin")),
        );
    }
    for (root, prefix) in NAMED {
        let named = entries(Path::new(root)).into_iter().filter(|dir| {
            dir.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        });
        places.extend(named.map(|dir| dir.join("bin")));
    }
    places.retain(|dir| dir.join("postgres").exists());
    let mut seen = std::collections::HashSet::new();
    places.retain(|dir| seen.insert(dir.join("postgres").canonicalize().ok()));
    places
}

/// The places in words.
fn searched(package: Option<&Path>) -> String {
    let package = package.map(|dir| format!("{}, ", dir.display()));
    format!(
        "{}the PATH, {}, and Homebrew's directories",
        package.unwrap_or_default(),
        VERSIONED[0]
    )
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    entries.flatten().map(|entry| entry.path()).collect()
}

/// `15.18` in `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn version_in(text: &str) -> Option<String> {
    text.split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_the_programs_print_them() {
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(version_in(debian).as_deref(), Some("15.18"));
        assert_eq!(
            version_in("postgres (PostgreSQL) 19beta1\n").as_deref(),
            Some("19beta1")
        );
        assert_eq!(version_in("nothing of the kind"), None);
    }

    #[test]
    fn the_package_comes_first_unless_another_major_version_is_newer() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("postgres"), "").unwrap();
        let places = places(Some(directory.path()));
        assert_eq!(places.first().map(PathBuf::as_path), Some(directory.path()));

        let programs = |dir: &str, major: u32, version: &str| Binaries {
            dir: dir.into(),
            major,
            version: version.to_owned(),
        };
        let best = |system: Binaries, needed: Option<u32>| {
            let found = vec![programs("/package", 17, "17.4"), system];
            Binaries::best(found, needed).map(|binaries| binaries.dir)
        };
        let package = Some(PathBuf::from("/package"));
        assert_eq!(best(programs("/system", 17, "17.6"), None), package);
        assert_eq!(best(programs("/system", 15, "15.8"), None), package);
        let system = Some(PathBuf::from("/system"));
        assert_eq!(best(programs("/system", 18, "18.0"), None), system);
        assert_eq!(best(programs("/system", 15, "15.8"), Some(15)), system);
        assert_eq!(best(programs("/system", 15, "15.8"), Some(16)), None);
    }

    #[test]
    fn an_error_names_the_package_where_there_is_one() {
        let package = Path::new("/opt/recollect/lib/recollect/postgres/bin");
        let places = searched(Some(package));
        assert!(places.starts_with("/opt/recollect/lib/recollect/postgres/bin, the PATH"));
        assert!(searched(None).starts_with("the PATH"));
    }

    #[test]
    fn a_version_that_is_not_there_is_an_error_that_names_the_places() {
        let error = Binaries::find(None, Some(3)).unwrap_err();
        assert!(error.to_string().contains("/usr/lib/postgresql"), "{error}");
        assert!(
            error.next_step().contains("postgresql-3"),
            "{}",
            error.next_step()
        );
    }
}
