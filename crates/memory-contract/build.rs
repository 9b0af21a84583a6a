//! Compiles the protos without protoc, and emits the descriptor set that
//! reflection serves and the CLI prints JSON with.
#![expect(
    clippy::disallowed_methods,
    reason = "Cargo configures build scripts through the environment"
)]

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    let package = root.join("recollect/v1");
    let mut protos: Vec<PathBuf> = fs::read_dir(&package)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    protos.retain(|path| path.extension().is_some_and(|ext| ext == "proto"));
    protos.sort();

    println!("cargo::rerun-if-changed={}", root.display());

    let mut compiler = protox::Compiler::new([&root])?;
    compiler.include_imports(true).include_source_info(true);
    compiler.open_files(&protos)?;
    // Encoded by the compiler: the types of prost have no place for options of google.api.
    let descriptors = compiler.encode_file_descriptor_set();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("recollect.bin"), &descriptors)?;
    tonic_prost_build::configure()
        .build_server(true)
        .build_client(true)
        .compile_fds(Message::decode(descriptors.as_slice())?)?;
    Ok(())
}
