//! A small language model that answers badly, as `make test-model` installs it.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::{Skipped, free_addr, project_dir};

/// Set where the tests with the model are to run.
const RUN: &str = "RECOLLECT_TEST_MODEL";

/// The model, with 135 million parameters. It ends with this.
pub struct RealModel {
    process: Child,
    addr: String,
}

impl RealModel {
    /// Starts it.
    ///
    /// # Errors
    /// Only `make test-model` runs it.
    ///
    /// # Panics
    /// If it is not installed.
    pub fn start() -> Result<Self, Skipped> {
        if env::var_os(RUN).is_none() {
            return Err(Skipped(
                "asks a real model; `make test-model` runs it".to_owned(),
            ));
        }
        let packages = project_dir().join(".setup/test-model");
        let mut process = Command::new("python3")
            .arg(project_dir().join("tests/model/serve.py"))
            .arg(free_addr().rsplit(':').next().unwrap())
            .env("PYTHONPATH", packages)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut addr = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut addr).unwrap();
        let addr = addr.trim().to_owned();
        assert!(
            addr.starts_with("http://"),
            "the model has not started: run make test-model"
        );
        Ok(Self { process, addr })
    }

    /// Lines of configuration that let a server ask it for answers of at most so many tokens.
    pub fn config(&self, answer_tokens: u32) -> Vec<String> {
        vec![
            "distill.generation.provider = \"openai_compatible\"".to_owned(),
            "distill.generation.model = \"smollm2\"".to_owned(),
            format!("distill.generation.endpoint = \"{}/v1\"", self.addr),
            // The model's own window is 8,192 tokens.
            "distill.generation.context_window = 4096".to_owned(),
            format!("distill.generation.max_output_tokens = {answer_tokens}"),
            "worker.distill.model_attempts = 2".to_owned(),
            "worker.distill.poll_interval = \"50ms\"".to_owned(),
            "worker.distill.quiet = \"50ms\"".to_owned(),
            "embedding.kind = \"none\"".to_owned(),
        ]
    }
}

impl Drop for RealModel {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
