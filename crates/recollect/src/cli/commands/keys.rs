//! `recollect keys`.

use std::path::PathBuf;
use std::time::Duration;

use memory_config::{Config, Loaded, Sources};
use memory_contract::{
    TenantId, check,
    convert::key_scopes_from,
    key::{BoundLists, KeyBounds, KeyScope, KeyScopes},
    limits, proto,
};
use memory_store::{Caller, KeyError, NewApiKey, Store, StoreConfig, StoreError};
use secrecy::{ExposeSecret as _, SecretString};
use time::OffsetDateTime;

use super::migrate::{not_migrated, require_database};
use crate::cli::args::{
    CreateKeyArgs, KeyNameArgs, KeyScopeArg, KeysArgs, KeysCommand, ListKeysArgs,
};
use crate::cli::failure::{Failure, chain};
use crate::cli::output::{JsonLines, Table, clock, exact};

/// The actor in the audit log.
const ACTOR: &str = "cli";
const PAGE: u32 = 500;

/// Makes, lists or ends keys in the configured database.
///
/// # Errors
/// When there is no database, or when it refuses.
pub async fn run(file: Option<PathBuf>, args: KeysArgs) -> Result<(), Failure> {
    let loaded = Config::load(&Sources {
        file,
        ..Default::default()
    })?;
    require_database(&loaded.config)?;
    match args.command {
        KeysCommand::Create(args) => create(&loaded, args).await,
        KeysCommand::List(args) => list(&loaded, args).await,
        KeysCommand::Revoke(args) => revoke(&loaded, args).await,
    }
}

async fn create(loaded: &Loaded, args: CreateKeyArgs) -> Result<(), Failure> {
    let CreateKeyArgs {
        key: KeyNameArgs { tenant, name, json },
        scopes,
        apps,
        app_prefixes,
        users,
        user_prefixes,
        expires_in,
    } = args;
    let caller = caller_of(tenant)?;
    let name = check::key_name("--name", name).map_err(usage)?;
    let expires = expires_in.map(end_after).transpose()?;
    let scopes = scopes_from(scopes);
    let bounds = KeyBounds::new(BoundLists {
        app_ids: apps,
        app_id_prefixes: app_prefixes,
        user_ids: users,
        user_id_prefixes: user_prefixes,
    })
    .map_err(usage)?;
    if !scopes.suit(&bounds) {
        return Err(Failure::Usage(
            "--scope admin: a key that is bound to apps or users cannot have it".to_owned(),
        ));
    }
    let configured = &loaded.config.auth.keys;
    if configured
        .iter()
        .any(|key| key.tenant == caller.tenant.as_str() && key.name == name)
    {
        return Err(failed(loaded, StoreError::Key(KeyError::Exists)));
    }
    let new = NewApiKey {
        name,
        scopes,
        bounds,
        expires,
    };
    let store = connect(loaded).await?;
    let (key, secret) = store
        .keys(&caller)
        .create_api_key(&new)
        .await
        .map_err(|error| failed(loaded, error))?;
    if json {
        let mut lines = JsonLines::stdout();
        let response = proto::CreateApiKeyResponse {
            api_key: Some(key.into()),
            secret: secret.expose_secret().to_owned(),
        };
        lines.write("CreateApiKeyResponse", &response)?;
        return lines.finish();
    }
    let mut table = table();
    row(&mut table, key.into());
    table.print()?;
    println!("\n  {}\n", secret.expose_secret());
    println!("This is the key. It is not stored and cannot be shown again: keep it now, as");
    println!("RECOLLECT_API_KEY, or send it as `authorization: Bearer KEY`.");
    let auth = &loaded.config.auth;
    if auth.keys.is_empty() && !auth.database {
        println!("This configuration does not require keys yet: set auth.database = true.");
    }
    Ok(())
}

async fn list(loaded: &Loaded, args: ListKeysArgs) -> Result<(), Failure> {
    let ListKeysArgs { tenant, json } = args;
    let caller = caller_of(tenant)?;
    let store = connect(loaded).await?;
    let mut table = table();
    let mut lines = JsonLines::stdout();
    let mut after = None;
    loop {
        let page = store
            .keys(&caller)
            .list_api_keys(after, PAGE)
            .await
            .map_err(|error| failed(loaded, error))?;
        for key in page.items.into_iter().map(proto::ApiKey::from) {
            match json {
                true => lines.write("ApiKey", &key)?,
                false => row(&mut table, key),
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if json {
        return lines.finish();
    }
    drop(lines);
    if table.is_empty() {
        println!("The tenant has no keys in the database. `recollect keys create` makes one.");
        return Ok(());
    }
    table.print()
}

async fn revoke(loaded: &Loaded, args: KeyNameArgs) -> Result<(), Failure> {
    let KeyNameArgs { tenant, name, json } = args;
    let caller = caller_of(tenant)?;
    let name = check::required_text("--name", name, limits::API_KEY_NAME_CHARS).map_err(usage)?;
    let store = connect(loaded).await?;
    let revoked = store
        .keys(&caller)
        .revoke_api_key(&name)
        .await
        .map_err(|error| failed(loaded, error))?;
    if json {
        let mut lines = JsonLines::stdout();
        lines.write(
            "RevokeApiKeyResponse",
            &proto::RevokeApiKeyResponse { revoked },
        )?;
        lines.finish()?;
    }
    if !revoked {
        return Err(Failure::NotFound {
            message: "the tenant has no such API key in the database".to_owned(),
            next_step: "`recollect keys list` lists the tenant's keys.",
        });
    }
    if json {
        return Ok(());
    }
    println!(
        "The key {} is revoked; every server refuses it within 5 seconds.",
        exact(&name)
    );
    Ok(())
}

/// Opens the database of keys alone: a key can be revoked while that of the
/// conversations is down.
async fn connect(loaded: &Loaded) -> Result<Store, Failure> {
    let config = StoreConfig {
        chat_url: SecretString::default(),
        ..loaded.config.database.clone()
    };
    Store::connect(&config)
        .await
        .map_err(|error| failed(loaded, error))
}

fn failed(loaded: &Loaded, error: StoreError) -> Failure {
    match error {
        StoreError::Key(KeyError::Exists) => Failure::Refused {
            message: "the tenant has an API key of this name".to_owned(),
            next_step: "Choose another name, or revoke that key first.".to_owned(),
        },
        error @ StoreError::Config { .. } => not_migrated(error, &loaded.provenance),
        error => Failure::machine(
            format!("the database cannot be used: {}", chain(&error)),
            "`recollect doctor` checks the database, `recollect migrate` brings its schema up to date.",
        ),
    }
}

fn caller_of(tenant: String) -> Result<Caller, Failure> {
    let tenant = check::required_text("--tenant", tenant, limits::TENANT_CHARS).map_err(usage)?;
    Ok(Caller {
        tenant: TenantId::new(tenant),
        actor: ACTOR.to_owned(),
        scopes: KeyScopes::from_iter([KeyScope::Admin]),
        bounds: KeyBounds::default(),
    })
}

fn end_after(time: Duration) -> Result<OffsetDateTime, Failure> {
    time::Duration::try_from(time)
        .ok()
        .filter(|time| time.is_positive())
        .and_then(|time| OffsetDateTime::now_utc().checked_add(time))
        .ok_or_else(|| Failure::Usage("--expires-in: must end before the year 10000".to_owned()))
}

fn scopes_from(scopes: Vec<KeyScopeArg>) -> KeyScopes {
    if scopes.is_empty() {
        return KeyScopes::default();
    }
    scopes
        .into_iter()
        .map(|scope| match scope {
            KeyScopeArg::Read => KeyScope::Read,
            KeyScopeArg::Write => KeyScope::Write,
            KeyScopeArg::Delete => KeyScope::Delete,
            KeyScopeArg::Admin => KeyScope::Admin,
        })
        .collect()
}

fn usage(invalid: memory_contract::Invalid) -> Failure {
    Failure::Usage(invalid.to_string())
}

fn table() -> Table {
    Table::new(&["Name!", "Scopes!", "Reaches", "Made!", "Ends!"])
}

fn row(table: &mut Table, key: proto::ApiKey) {
    let proto::ApiKey {
        name,
        scopes,
        create_time,
        expire_time,
        bounds,
    } = key;
    let scopes = key_scopes_from("scopes", &scopes).unwrap_or_default();
    let scopes: Vec<_> = scopes.iter().map(KeyScope::name).collect();
    let ends = match expire_time {
        Some(time) => clock(Some(&time)),
        None => "never".to_owned(),
    };
    table.row([
        exact(&name),
        scopes.join(", "),
        reach(bounds.unwrap_or_default()),
        clock(create_time.as_ref()),
        ends,
    ]);
}

/// The apps and users that a key reaches, in words.
fn reach(bounds: proto::KeyBounds) -> String {
    let proto::KeyBounds {
        app_ids,
        app_id_prefixes,
        user_ids,
        user_id_prefixes,
    } = bounds;
    let of = |noun: &str, ids: Vec<String>, prefixes: Vec<String>| {
        let prefixes = prefixes.iter().map(|prefix| format!("{}…", exact(prefix)));
        let all: Vec<String> = ids.iter().map(|id| exact(id)).chain(prefixes).collect();
        (!all.is_empty()).then(|| format!("{noun} {}", all.join(", ")))
    };
    let apps = of("apps", app_ids, app_id_prefixes);
    let users = of("users", user_ids, user_id_prefixes);
    match apps.into_iter().chain(users).collect::<Vec<_>>() {
        none if none.is_empty() => "the tenant".to_owned(),
        some => some.join("; "),
    }
}
