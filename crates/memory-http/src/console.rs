//! The console: a static web page that works by the JSON API alone.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::LazyLock;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, LOCATION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use tonic::body::Body;

use crate::body::sent;
use crate::connect;

/// Where the console is. Its pages are named relative to it, so that a proxy may put it
/// below another path.
const ROOT: &str = "/console/";

/// Everything comes from this server, nothing is framed, and text never becomes markup or
/// script.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'",
);
const SAME_ORIGIN: HeaderValue = HeaderValue::from_static("same-origin");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// A file of the console.
struct File {
    media_type: HeaderValue,
    etag: HeaderValue,
    plain: Bytes,
    compressed: Option<Bytes>,
}

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../console/", $name)))),*]
    };
}

/// All files by name. `index.html` is the page itself.
static FILES: LazyLock<HashMap<&str, File>> = LazyLock::new(|| {
    let files = files! {
        "index.html"
        "api.js"
        "app.js"
        "charts.js"
        "console.css"
        "context.js"
        "dom.js"
        "format.js"
        "icon.svg"
        "memories.js"
        "operations.js"
        "overview.js"
        "parts.js"
        "recall.js"
        "route.js"
        "thread.js"
        "times.js"
    };
    let files = files.into_iter();
    files
        .map(|(name, text)| (name, File::new(name, text)))
        .collect()
});

impl File {
    fn new(name: &str, text: &'static str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let etag = format!("W/\"{:016x}\"", hasher.finish());
        let media_type = match name.rsplit_once('.') {
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        };
        let plain = Bytes::from_static(text.as_bytes());
        Self {
            media_type: HeaderValue::from_static(media_type),
            etag: HeaderValue::try_from(etag).unwrap_or(HeaderValue::from_static("*")),
            compressed: connect::gzip(&plain),
            plain,
        }
    }
}

/// The answer to a GET or HEAD request; `None` if the console has nothing at this path.
pub(crate) fn answer(path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    if path == ROOT.trim_end_matches('/') {
        let mut found = HeaderMap::new();
        found.insert(LOCATION, HeaderValue::from_static("console/"));
        return Some(sent(StatusCode::PERMANENT_REDIRECT, found, Bytes::new()));
    }
    let name = match path.strip_prefix(ROOT)? {
        "" => "index.html",
        name => name,
    };
    let file = FILES.get(name)?;
    let mut found = HeaderMap::new();
    found.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    found.insert(CONTENT_SECURITY_POLICY, POLICY);
    found.insert(ETAG, file.etag.clone());
    found.insert(OPENER_POLICY, SAME_ORIGIN);
    found.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    found.insert(RESOURCE_POLICY, SAME_ORIGIN);
    found.insert(VARY, HeaderValue::from_static("accept-encoding"));
    found.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if is_known(headers, &file.etag) {
        let mut unchanged = sent(StatusCode::NOT_MODIFIED, found, Bytes::new());
        // It would be the length of the file.
        unchanged.headers_mut().remove(CONTENT_LENGTH);
        return Some(unchanged);
    }
    found.insert(CONTENT_TYPE, file.media_type.clone());
    let compressed = connect::accepts_gzip(headers, &http::header::ACCEPT_ENCODING)
        .then(|| file.compressed.clone())
        .flatten();
    let body = match compressed {
        Some(compressed) => {
            found.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            compressed
        }
        None => file.plain.clone(),
    };
    Some(sent(StatusCode::OK, found, body))
}

/// Whether a path belongs to the console.
pub(crate) fn owns(path: &str) -> bool {
    path.starts_with(ROOT) || path == ROOT.trim_end_matches('/')
}

/// Whether the caller has the file with this tag already.
fn is_known(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let Ok(etag) = etag.to_str() else {
        return false;
    };
    let tags = headers.get_all(IF_NONE_MATCH).iter();
    tags.filter_map(|tags| tags.to_str().ok())
        .flat_map(|tags| tags.split(','))
        .any(|tag| tag.trim() == etag)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_console_is_served() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("console");
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(directory).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let answer = answer(&format!("{ROOT}{name}"), &HeaderMap::new());
            let answer = answer.unwrap_or_else(|| panic!("{name} is not in FILES"));
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(answer.headers()[CONTENT_SECURITY_POLICY], POLICY);
            names.insert(name);
        }
        let served: BTreeSet<String> = FILES.keys().map(|name| (*name).to_owned()).collect();
        assert_eq!(names, served);
    }

    #[test]
    fn a_known_file_is_not_sent_again() {
        let first = answer("/console/", &HeaderMap::new()).unwrap();
        let etag = &first.headers()[ETAG];
        for (tags, status) in [
            (etag.to_str().unwrap().to_owned(), StatusCode::NOT_MODIFIED),
            (
                format!("\"x\", {}", etag.to_str().unwrap()),
                StatusCode::NOT_MODIFIED,
            ),
            ("\"x\"".to_owned(), StatusCode::OK),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, tags.parse().unwrap());
            let again = answer("/console/", &headers).unwrap();
            assert_eq!(again.status(), status, "{tags}");
            assert_eq!(again.headers()[ETAG], *etag);
        }
    }

    #[test]
    fn the_console_owns_its_paths_alone() {
        for path in ["/console", "/console/", "/console/app.js", "/console/none"] {
            assert!(owns(path), "{path}");
        }
        for path in ["/", "/consoles", "/openapi.json"] {
            assert!(!owns(path), "{path}");
        }
        assert!(answer("/console/none", &HeaderMap::new()).is_none());
        assert!(answer("/console/../app.js", &HeaderMap::new()).is_none());
        let found = answer("/console", &HeaderMap::new()).unwrap();
        assert_eq!(found.headers()[LOCATION], "console/");
    }
}
