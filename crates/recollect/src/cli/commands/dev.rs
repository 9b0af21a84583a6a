//! `recollect dev`.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use memory_server::Readiness;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::signals::Stop;
use super::startup::Embedded;
use crate::cli::args::DevArgs;
use crate::cli::failure::{Failure, chain};
use crate::cli::output::{Progress, duration, print_json};
use memory_config::{Config, Sources, ValueSource};
use memory_process::init_telemetry;

/// Runs a server with everything in one directory, until it receives a signal to stop.
///
/// # Errors
/// When it does not start, or ends by itself.
pub async fn run(file: Option<PathBuf>, args: DevArgs) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut stop = Stop::listen(args.stop_with_stdin)?;
    let mut sources = Sources {
        file,
        ..Default::default()
    };
    let mut flag = |flag: &str, key: &str, value: Value| {
        sources.flags.push((flag.to_owned(), key.to_owned(), value));
    };
    if let Some(listen) = args.listen {
        flag("--listen", "server.listen", json!(listen));
    }
    if let Some(listen) = args.metrics_listen {
        flag(
            "--metrics-listen",
            "telemetry.metrics_listen",
            json!(listen),
        );
    }
    let mut loaded = Config::load(&sources)?;
    let is_default = |key: &str| loaded.provenance.source_of(key) == ValueSource::Default;
    // `--listen` with port 0 selects a free port for the metrics too.
    if is_default("telemetry.metrics_listen")
        && loaded.config.server.listen.port() == 0
        && let Some(listen) = &mut loaded.config.telemetry.metrics_listen
    {
        listen.set_port(0);
    }
    // The screen is for people; what goes wrong is said even so.
    if is_default("telemetry.log_level") {
        "warn,qdrant_edge=error".clone_into(&mut loaded.config.telemetry.log_level);
    }
    let _telemetry = init_telemetry(&loaded.config.telemetry)
        .map_err(|error| Failure::machine(chain(&error), ""))?;

    if !args.json {
        println!(
            "Recollect {}: a memory for agents.",
            env!("CARGO_PKG_VERSION")
        );
        let dir = args.data.data_dir.display();
        match loaded.config.database.url.expose_secret().is_empty() {
            true => println!("This starts a private Postgres and index in {dir}."),
            false => println!("This uses the Postgres that database.url names, and {dir}."),
        }
        println!("It takes about 3 seconds the first time, and 1 second after that.\n");
    }
    let progress = Progress::spinner(args.json);
    let start = Embedded::start(
        loaded,
        &args.data.data_dir,
        args.postgres_bin.clone(),
        begin,
        &progress,
    );
    let server = tokio::select! {
        server = start => server?,
        reason = stop.wait() => {
            progress.finish();
            eprintln!("Stopped before it was ready, by {reason}.");
            return Ok(());
        }
    };
    progress.finish();

    let ready = ready_line(&server);
    if let Some(path) = &args.ready_file {
        write_at_once(path, &ready)?;
    }
    match args.json {
        true => print_json(&ready)?,
        false => banner(&server)?,
    }

    let failed = tokio::select! {
        reason = stop.wait() => {
            if !args.json {
                eprintln!("\nStopping on {reason}; a second signal stops at once.");
            }
            None
        }
        failure = server.failed() => Some(failure),
    };
    if let Some(path) = &args.ready_file {
        let _ = std::fs::remove_file(path);
    }
    let (quiet, step) = (args.json, Instant::now());
    tokio::select! {
        () = server.stop(|what| if !quiet { eprintln!("{what}") }) => {
            if !quiet {
                eprintln!("Stopped in {}. All data is kept.", duration(step.elapsed()));
            }
        }
        _ = stop.wait() => eprintln!("Stopped at once. All acknowledged writes are kept."),
    }
    failed.map_or(Ok(()), Err)
}

/// What a program needs to know, as one line of JSON.
fn ready_line(server: &Embedded) -> Value {
    let times = &server.times;
    let ms = |time: std::time::Duration| (time.as_secs_f64() * 1e4).round() / 10.0;
    let (state, reasons) = match &server.readiness {
        Readiness::Ready => ("ready", &[][..]),
        Readiness::Starting => ("starting", &[][..]),
        Readiness::Degraded(reasons) => ("degraded", &reasons[..]),
        Readiness::Unavailable(reasons) => ("unavailable", &reasons[..]),
    };
    json!({
        "addr": server.addr().to_string(),
        "metrics_addr": server.running.metrics_addr().map(|addr| addr.to_string()),
        "pid": std::process::id(),
        "postgres": server.cluster.as_ref().map(|cluster| cluster.url()),
        "postgres_pid": server.cluster.as_ref().map(|cluster| cluster.pid()),
        "data_dir": server.data_dir(),
        "state": state,
        "reasons": reasons,
        "startup_ms": {
            "initdb": times.cluster.initdb.map(ms),
            "postgres": ms(times.cluster.start),
            "database": ms(times.cluster.database),
            "migrate": ms(times.migrate),
            "server": ms(times.server),
            "total": ms(times.total),
        },
    })
}

/// A reader never sees half of the file.
fn write_at_once(path: &Path, line: &Value) -> Result<(), Failure> {
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    };
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        writeln!(file, "{line}")?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| {
        Failure::machine(
            format!("cannot write {}: {error}", path.display()),
            "See --ready-file.",
        )
    })
}

fn banner(server: &Embedded) -> Result<(), Failure> {
    let addr = server.addr();
    let mut out = std::io::stdout().lock();
    let mut lines = vec![
        format!("Ready after {}.", duration(server.times.total)),
        String::new(),
    ];
    lines.push(format!("  gRPC       {addr}"));
    if let Some(console) = server.console() {
        lines.push(format!("  console    {console}"));
    }
    if let Some(metrics) = server.running.metrics_addr() {
        lines.push(format!("  metrics    http://{metrics}/metrics"));
    }
    lines.push(format!("  data       {}", server.data_dir().display()));
    match &server.cluster {
        Some(cluster) => {
            lines.push(format!(
                "  database   Postgres {}, psql '{}'",
                cluster.version(),
                cluster.url()
            ));
            if let Some(pid) = cluster.stopped_orphan() {
                lines.push(format!(
                    "             (an earlier process had left one behind, {pid}; it was stopped)"
                ));
            }
        }
        None => lines.push("  database   the one that database.url names".to_owned()),
    }
    if server.chat_database {
        lines.push(
            "             (conversations are in the one that database.chat_url names)".to_owned(),
        );
    }
    if let Readiness::Degraded(reasons) | Readiness::Unavailable(reasons) = &server.readiness {
        lines.push(String::new());
        lines.push("Degraded:".to_owned());
        lines.extend(reasons.iter().map(|reason| format!("  - {reason}")));
        // A rebuild ends by itself.
        if !reasons
            .iter()
            .all(|reason| reason.contains("being rebuilt"))
        {
            lines.push(format!("`{} doctor` says how to fix it.", program()));
        }
    }
    lines.extend([
        String::new(),
        "Try, in another terminal:".to_owned(),
        String::new(),
    ]);
    lines.extend(
        commands(addr)
            .into_iter()
            .map(|command| format!("  {command}")),
    );
    lines.extend([String::new(), "Ctrl-C stops it.".to_owned()]);
    for line in lines {
        writeln!(out, "{line}").map_err(Failure::output)?;
    }
    out.flush().map_err(Failure::output)
}

/// Three commands to copy and run.
fn commands(addr: std::net::SocketAddr) -> [String; 3] {
    let program = program();
    let option = match addr.port() {
        50051 => String::new(),
        _ => format!(" --addr http://{addr}"),
    };
    let example = Path::new("examples/conversation.jsonl");
    let (first, second) = match example.exists() {
        true => (
            format!("{program} import{option} {}", example.display()),
            format!(
                "{program} recall{option} --user conversation \"Where is the spare key kept?\""
            ),
        ),
        false => (
            format!("{program} demo"),
            format!("{program} status{option}"),
        ),
    };
    let session = r#"{"session": {"app_id": "support", "user_id": "ada", "session_key": "42"}}"#;
    [
        first,
        second,
        format!(
            "{} -plaintext -d '{session}' {addr} recollect.v1.ThreadService/ResolveThread",
            grpcurl()
        ),
    ]
}

/// The grpcurl that `scripts/setup` built, where there is one.
fn grpcurl() -> &'static str {
    const BUILT: &str = ".setup/bin/grpcurl";
    if Path::new(BUILT).is_file() {
        BUILT
    } else {
        "grpcurl"
    }
}

/// This program, as it can be typed here.
fn program() -> String {
    let Ok(program) = env::current_exe() else {
        return "recollect".to_owned();
    };
    #[expect(clippy::disallowed_methods, reason = "where the system keeps things")]
    let on_path = env::var_os("PATH").is_some_and(|path| {
        env::split_paths(&path).any(|dir| {
            dir.join("recollect")
                .canonicalize()
                .is_ok_and(|found| found == program)
        })
    });
    let here = env::current_dir().ok();
    match here.and_then(|here| program.strip_prefix(here).ok().map(Path::to_owned)) {
        _ if on_path => "recollect".to_owned(),
        // A shell looks for a bare name on its PATH alone.
        Some(relative) if relative.components().count() == 1 => {
            format!("./{}", relative.display())
        }
        Some(relative) => relative.display().to_string(),
        None => program.display().to_string(),
    }
}
