//! `recollect doctor`.

use std::path::PathBuf;

use memory_config::{Config, Sources};

use super::checks::{self, Finding, Verdict};
use super::database_checks;
use crate::cli::args::DoctorArgs;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, print_json};

/// Checks the setup, and says how to fix each problem.
///
/// # Errors
/// When a check failed.
pub async fn run(file: Option<PathBuf>, args: DoctorArgs) -> Result<(), Failure> {
    let loaded = Config::load(&Sources {
        file,
        ..Default::default()
    });
    let (config, mut findings) = match loaded {
        Ok(loaded) => (
            loaded.config,
            vec![Finding::ok("configuration", "it can be used")],
        ),
        Err(error) => {
            let fix = "Correct it; the other checks use the built-in defaults.";
            (
                Config::default(),
                vec![Finding::fail("configuration", error.to_string(), fix)],
            )
        }
    };
    findings.push(checks::data_dir(&args.data.data_dir));
    findings.push(checks::disk(&args.data.data_dir));
    findings.extend(
        database_checks::database(&config, args.postgres_bin.as_deref(), &args.data.data_dir).await,
    );
    findings.extend(checks::model(&config));
    findings.extend(checks::embedding(&config).await);
    findings.push(checks::distilling(&config));
    findings.push(checks::index(&config, &args.data.data_dir).await);
    findings.push(checks::objects(&config, &args.data.data_dir).await);
    findings.push(checks::port(
        "gRPC port",
        "server.listen",
        config.server.listen,
    ));
    if let Some(addr) = config.telemetry.metrics_listen {
        findings.push(checks::port(
            "metrics port",
            "telemetry.metrics_listen",
            addr,
        ));
    }
    if !findings.iter().any(|finding| finding.check == "clock") {
        findings.push(checks::own_clock());
    }
    findings.extend(checks::loopback());

    match args.json {
        true => findings.iter().try_for_each(print_json)?,
        false => print(&findings)?,
    }
    let failed = findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Fail)
        .count();
    match failed {
        0 => Ok(()),
        1 => Err(Failure::machine("1 check failed", "")),
        _ => Err(Failure::machine(format!("{failed} checks failed"), "")),
    }
}

fn print(findings: &[Finding]) -> Result<(), Failure> {
    let mut table = Table::new(&["!", "Check!", "Found", "How to fix it"]);
    for finding in findings {
        let mark = match finding.verdict {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        };
        table.row([
            mark.to_owned(),
            finding.check.to_owned(),
            finding.found.clone(),
            finding.fix.clone(),
        ]);
    }
    table.print()
}
