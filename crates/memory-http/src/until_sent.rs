//! What lasts until an answer has been sent.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

type Kept = Box<dyn Any + Send>;

/// An extension of requests whose answer is sent after the gRPC stack has given all of it. It
/// keeps a value until then.
#[derive(Clone, Debug, Default)]
pub struct UntilSent(Arc<Mutex<Option<Kept>>>);

impl UntilSent {
    /// Keeps a value, and drops the one before.
    pub fn keep(&self, value: impl Any + Send) {
        self.put(Some(Box::new(value)));
    }

    fn put(&self, value: Option<Kept>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *kept, value);
        drop(kept);
        drop(before);
    }
}

/// Drops the value with the answer.
#[derive(Debug, Default)]
pub(crate) struct Sending(pub(crate) UntilSent);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.put(None);
    }
}
