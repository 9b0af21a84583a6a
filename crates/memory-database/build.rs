//! Embeds the SQL of `schema/` and `functions/`, in the order in which `migrate` applies it.
#![expect(
    clippy::disallowed_methods,
    reason = "Cargo configures build scripts through the environment"
)]

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    println!("cargo::rerun-if-changed=schema");
    println!("cargo::rerun-if-changed=functions");

    let schema = entries(&root.join("schema"))?;
    for (place, file) in schema.iter().enumerate() {
        let prefix = format!("{:03}_", place + 1);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(&prefix) {
            return Err(format!("schema/{name} must be numbered {prefix}").into());
        }
    }
    let mut functions = vec![root.join("functions/owners.sql")];
    for noun in entries(&root.join("functions"))? {
        if noun.is_dir() {
            functions.extend(entries(&noun)?);
        }
    }
    functions.push(root.join("functions/access.sql"));

    let mut code = String::new();
    for (name, files) in [("SCHEMA", schema), ("FUNCTIONS", functions)] {
        writeln!(code, "static {name}: &[SqlFile] = &[")?;
        for file in files {
            let path = file.strip_prefix(&root)?.display().to_string();
            writeln!(
                code,
                "    SqlFile {{ path: {path:?}, sql: include_str!({file:?}) }},"
            )?;
        }
        writeln!(code, "];")?;
    }
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("sql.rs"), code)?;
    Ok(())
}

/// What a directory contains, sorted by name.
fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    entries.sort();
    Ok(entries)
}
