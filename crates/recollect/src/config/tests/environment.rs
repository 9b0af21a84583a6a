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
        let source = loaded.provenance.of("database.url").to_string();
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
