//! Notes that a connection has a request.

use std::sync::Arc;

use super::around::{Around, Inner};
use super::{Answer, Request};
use crate::connections::Place;

/// Keeps a connection open that has sent the whole head of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstRequest;

impl Around for FirstRequest {
    fn call<S: Inner>(&self, inner: &mut S, request: Request) -> Answer<S::Error> {
        if let Some(place) = request.extensions().get::<Arc<Place>>() {
            place.note_request();
        }
        Box::pin(inner.call(request))
    }
}
