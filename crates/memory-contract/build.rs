//! Compiles the protos without protoc, and emits the descriptor set that
//! reflection serves and the CLI prints JSON with.
#![expect(
    clippy::disallowed_methods,
    reason = "Cargo configures build scripts through the environment"
)]

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    let package = root.join("recollect/v1");
    let mut protos: Vec<PathBuf> = fs::read_dir(&package)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    protos.retain(|path| path.extension().is_some_and(|ext| ext == "proto"));
    protos.sort();

    println!("cargo::rerun-if-changed={}", package.display());
    for proto in &protos {
        println!("cargo::rerun-if-changed={}", proto.display());
    }

    let descriptors = protox::compile(&protos, [&root])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("recollect.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_server(true)
        .build_client(true)
        .compile_fds(descriptors)?;
    Ok(())
}
