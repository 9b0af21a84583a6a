//! Records refused changes in the audit log. Successful changes are recorded in their own
//! transaction.

use std::sync::{Arc, OnceLock};

use memory_grpc::status;
use memory_store::Caller;
use tonic::{Code, Status};

use super::around::{Around, Inner};
use super::{Answer, Methods, Request};
use crate::refusals::{Refusal, RefusalLog};

/// Records the refusals of calls that would change something, as their callers see
/// them: it is outside the layers that refuse. Unauthenticated calls belong to no
/// tenant and are not recorded.
#[derive(Clone, Debug)]
pub(crate) struct RecordRefusals {
    methods: Methods,
    log: RefusalLog,
}

/// The caller, passed from the authentication layer outward to [`RecordRefusals`].
#[derive(Clone, Debug, Default)]
pub(super) struct Identity(Arc<OnceLock<Caller>>);

impl Identity {
    /// Passes the caller to the [`RecordRefusals`] layer, if the call went through one.
    pub(super) fn pass(request: &Request, caller: &Caller) {
        if let Some(Self(identity)) = request.extensions().get() {
            // A call has one caller.
            let _ = identity.set(caller.clone());
        }
    }
}

impl RecordRefusals {
    pub(crate) fn new(methods: Methods, log: RefusalLog) -> Self {
        Self { methods, log }
    }
}

impl Around for RecordRefusals {
    fn call<S: Inner>(&self, inner: &mut S, mut request: Request) -> Answer<S::Error> {
        let method = self.methods.of(request.uri().path());
        let Some(action) = method.change.clone() else {
            return Box::pin(inner.call(request));
        };
        let identity = Identity::default();
        request.extensions_mut().insert(identity.clone());
        let answer = inner.call(request);
        let log = self.log.clone();
        Box::pin(async move {
            let response = answer.await?;
            // A refusal is an answer without a body. One that ends in the middle of
            // its body comes after the change.
            let status = Status::from_header_map(response.headers());
            if let (Some(caller), Some(status)) = (identity.0.get(), status)
                && status.code() != Code::Ok
            {
                log.note(Refusal {
                    tenant: caller.tenant.clone(),
                    actor: caller.actor.clone(),
                    action,
                    result: status::reason_of(&status).to_lowercase(),
                });
            }
            Ok(response)
        })
    }
}
