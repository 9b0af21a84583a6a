//! Settings in environment variables.

use super::*;

#[test]
fn a_variable_with_the_suffix_file_names_a_file_with_the_value() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("url");
    fs::write(&path, "postgres://me:1234@host/recollect\n").unwrap();
    let path = path.to_str().unwrap();
    for name in ["RECOLLECT_DATABASE__URL", "DATABASE_URL"] {
        let file = format!("{name}_FILE");
        let loaded = load("", &[(&file, path)]).unwrap();
        let url = loaded.config.database.url.expose_secret();
        assert_eq!(url, "postgres://me:1234@host/recollect");
        let source = loaded.provenance.source_of("database.url").to_string();
        assert_eq!(source, format!("environment variable {file}"));

        let both = error("", &[(&file, path), (name, "postgres://host/other")]);
        assert!(both.contains(&format!("{name} is set too")), "{both}");
        let missing = error("", &[(&file, "/nowhere/url")]);
        assert!(missing.contains("/nowhere/url cannot be read"), "{missing}");
    }
    let unknown = error("", &[("RECOLLECT_TELEMETRY__LOG_FILE", path)]);
    assert!(unknown.contains("there is no such key"), "{unknown}");
}

#[test]
fn lists_are_read_as_json_too() {
    let sha256 = "b".repeat(64);
    let json = format!("[{{\"name\": \"bot\", \"tenant\": \"acme\", \"sha256\": \"{sha256}\"}}]");
    let toml = format!("[{{name=\"bot\",tenant=\"acme\",sha256=\"{sha256}\"}}]");
    let keys = |text: &str| {
        let loaded = load("", &[("RECOLLECT_AUTH__KEYS", text)]).unwrap();
        loaded.config.auth.keys
    };
    assert_eq!(keys(&json).len(), 1);
    assert_eq!(keys(&json)[0].tenant, "acme");
    assert_eq!(format!("{:?}", keys(&json)), format!("{:?}", keys(&toml)));
}

#[test]
fn the_usual_names_of_logging_and_tracing_are_respected() {
    let check = |env: &[(&str, &str)], level: &str| {
        let loaded = load("", env).unwrap();
        assert_eq!(loaded.config.telemetry.log_level, level, "{env:?}");
    };
    check(&[("RUST_LOG", "warn")], "warn");
    let own = ("RECOLLECT_TELEMETRY__LOG_LEVEL", "debug");
    check(&[("RUST_LOG", "warn"), own], "debug");
    let wrong = error("", &[("RUST_LOG", "a=b=c")]);
    assert!(wrong.contains("RUST_LOG"), "{wrong}");
    let endpoints = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4317"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:4317"),
    ];
    let loaded = load("", &endpoints).unwrap();
    let endpoint = loaded.config.telemetry.otlp_endpoint;
    assert_eq!(endpoint.as_deref(), Some("http://traces:4317"));
}

#[test]
fn variables_of_others_are_left_alone() {
    assert!(
        load(
            "",
            &[
                ("RECOLLECT_API_KEY", "x"),
                ("RECOLLECT_DATA_DIR", "/x"),
                ("PATH", "/")
            ]
        )
        .is_ok()
    );
}
