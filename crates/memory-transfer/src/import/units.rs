//! Policies, files, plans, attempts and documents. What is there with the same content is
//! known. With other content it stays, unless the import replaces it.

use memory_checksum::{app_policy_digest, document_digest, file_digest, plan_digest};
use memory_contract::file::FileLocation;
use memory_contract::proto::{
    AppPolicy, AppendAttemptRequest, Attempt, ExportedDocument, File, GetAppPolicyRequest,
    GetFileRequest, GetPlanRequest, Plan, Precondition, PutPlanRequest, RegisterFileRequest,
    UpdateAppPolicyRequest, precondition::State,
};
use memory_grpc::ApiError;
use memory_store::{PlanError, StoreError};
use prost_types::FieldMask;

use super::errors::renamed;
use super::state::Import;
use super::tally::Outcome;

impl Import {
    pub(super) async fn app_policy(&mut self, wanted: AppPolicy) -> Result<Outcome, ApiError> {
        let digest = app_policy_digest(&wanted);
        let app_id = wanted.app_id;
        let request = GetAppPolicyRequest {
            app_id: app_id.clone(),
        };
        let found = self.handlers.policies.get(self.call(request)).await;
        let found = found.map_err(|error| renamed(error, "app_policy", "app_policy"))?;
        let found = found.app_policy.unwrap_or_default();
        if found.update_time.is_some() {
            if app_policy_digest(&found) == digest {
                return Ok(Outcome::Known);
            }
            self.may_replace("the app has another policy")?;
        }
        let request = UpdateAppPolicyRequest {
            app_policy: Some(AppPolicy {
                app_id,
                policy: wanted.policy,
                ..AppPolicy::default()
            }),
            update_mask: Some(FieldMask {
                paths: vec!["policy".to_owned()],
            }),
            // An app without a policy has no etag.
            precondition: Some(Precondition {
                state: Some(match found.etag.is_empty() {
                    true => State::Absent(()),
                    false => State::Etag(found.etag),
                }),
            }),
        };
        let updated = self.handlers.policies.update(self.call(request)).await;
        updated.map_err(|error| renamed(error, "app_policy", "app_policy"))?;
        Ok(Outcome::Stored)
    }

    /// Stores a file; `None` if it came before.
    pub(super) async fn file(&mut self, wanted: File) -> Result<Option<Outcome>, ApiError> {
        let digest = file_digest(&wanted);
        if !self.files.insert(digest) {
            return Ok(None);
        }
        let location = wanted.location.clone().map(FileLocation::from);
        let request = GetFileRequest {
            location: location.map(Into::into),
        };
        match self.handlers.files.get(self.call(request)).await {
            Ok(found) => {
                if file_digest(&found.file.unwrap_or_default()) == digest {
                    return Ok(Some(Outcome::Known));
                }
                self.may_replace("the file has other metadata")?;
            }
            Err(ApiError::Store(StoreError::FileNotFound)) => {}
            Err(error) => return Err(renamed(error, "", "file")),
        }
        let request = RegisterFileRequest { file: Some(wanted) };
        let registered = self.handlers.files.register(self.call(request)).await;
        registered.map_err(|error| renamed(error, "file", "file"))?;
        Ok(Some(Outcome::Stored))
    }

    pub(super) async fn plan(&mut self, wanted: Plan) -> Result<Outcome, ApiError> {
        let thread = self.thread_of("plan")?.id.clone();
        let digest = plan_digest(&wanted);
        let request = GetPlanRequest {
            thread: Some(thread.clone().into()),
        };
        let state = match self.handlers.plans.get(self.call(request)).await {
            Ok(found) => {
                let found = found.plan.unwrap_or_default();
                if plan_digest(&found) == digest {
                    return Ok(Outcome::Known);
                }
                self.may_replace("the thread has another plan")?;
                State::Etag(found.etag)
            }
            Err(ApiError::Store(StoreError::Plan(PlanError::NotFound))) => State::Absent(()),
            Err(error) => return Err(error),
        };
        let request = PutPlanRequest {
            thread: Some(thread.into()),
            plan: Some(wanted),
            precondition: Some(Precondition { state: Some(state) }),
        };
        let put = self.handlers.plans.put(self.call(request)).await;
        put.map_err(|error| renamed(error, "plan", "plan"))?;
        Ok(Outcome::Stored)
    }

    pub(super) async fn attempt(&mut self, attempt: Attempt) -> Result<Outcome, ApiError> {
        let thread = self.thread_of("attempt")?.id.clone();
        // The number in the record tells attempts apart that were made twice alike.
        let request_id = self.request_id(&thread, std::slice::from_ref(&attempt));
        let request = AppendAttemptRequest {
            thread: Some(thread.into()),
            attempt: Some(attempt),
            request_id,
        };
        let appended = self.handlers.plans.append(self.call(request)).await;
        let appended = appended.map_err(|error| renamed(error, "attempt", "attempt"))?;
        Ok(Outcome::of(appended.replayed))
    }

    pub(super) async fn document(&mut self, wanted: ExportedDocument) -> Result<Outcome, ApiError> {
        let digest = document_digest(&wanted);
        let named = |error| renamed(error, "documents[0]", "document");
        let documents = &self.handlers.documents;
        let found = documents.exported(&self.caller, &wanted).await;
        if let Some(found) = found.map_err(named)? {
            if document_digest(&found) == digest {
                return Ok(Outcome::Known);
            }
            self.may_replace("the user or app has another document of this name")?;
        }
        documents
            .put_exported(&self.caller, wanted)
            .await
            .map_err(named)?;
        Ok(Outcome::Stored)
    }

    /// # Errors
    /// `RecordDiffers` with what exists, unless the import replaces it.
    pub(super) fn may_replace(&self, exists: &str) -> Result<(), ApiError> {
        match self.options.replace {
            true => Ok(()),
            false => Err(ApiError::RecordDiffers {
                exists: exists.to_owned(),
                replaceable: true,
            }),
        }
    }
}
