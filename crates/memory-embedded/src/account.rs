//! The operating system's account that Postgres runs as.

use std::fs;
use std::process::Command;

use rustix::process::geteuid;

use super::EmbeddedError;

/// The operating system's account that owns the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    /// Its user id.
    pub uid: u32,
    /// Its group id.
    pub gid: u32,
    /// Whether it is another one than this process runs as. Only root changes.
    pub switched: bool,
}

impl Account {
    /// This process's own account; for root, which Postgres refuses to run as,
    /// `postgres` or else `nobody`.
    ///
    /// # Errors
    /// [`EmbeddedError::NoAccount`] when root has neither.
    pub fn choose() -> Result<Self, EmbeddedError> {
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let uid = geteuid().as_raw();
        if uid != 0 {
            let gid = rustix::process::getegid().as_raw();
            let name = accounts
                .lines()
                .filter_map(parse)
                .find(|account| account.uid == uid)
                .map(|account| account.name)
                .or_else(name_from_directory)
                .unwrap_or_else(|| uid.to_string());
            return Ok(Self {
                name,
                uid,
                gid,
                switched: false,
            });
        }
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| accounts.lines().filter_map(parse).find(|a| a.name == *name))
            .map(|account| Self {
                switched: true,
                ..account
            })
            .ok_or(EmbeddedError::NoAccount)
    }
}

/// One line of /etc/passwd: `name:password:uid:gid:…`.
fn parse(line: &str) -> Option<Account> {
    let mut fields = line.split(':');
    let name = fields.next()?.to_owned();
    let uid = fields.nth(1)?.parse().ok()?;
    let gid = fields.next()?.parse().ok()?;
    Some(Account {
        name,
        uid,
        gid,
        switched: false,
    })
}

/// Accounts of a directory service are not in the file.
fn name_from_directory() -> Option<String> {
    let output = Command::new("id").arg("-un").output().ok()?;
    let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_from_their_lines() {
        let account =
            parse("postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash").unwrap();
        assert_eq!(
            (account.name.as_str(), account.uid, account.gid),
            ("postgres", 101, 104)
        );
        assert_eq!(parse("# a comment"), None);
        assert_eq!(parse("short:x:1"), None);
    }

    #[test]
    fn root_never_keeps_its_own_account() {
        let account = Account::choose().unwrap();
        assert_ne!(account.uid, 0);
        assert_eq!(account.switched, geteuid().is_root());
    }
}
