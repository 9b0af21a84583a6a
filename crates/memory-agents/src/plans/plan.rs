//! Stores agents' plans.

use memory_agent_contract::plan::{NewPlan, Plan, PlanStep, PlanStepStatus};
use memory_contract::{ThreadId, json::JsonObject, precondition::Precondition};
use memory_database::{
    PlanError, StoreError,
    rows::{GET_THREAD, column, one_thread, only, unknown_status},
};
use memory_postgres::{Params, query};
use tokio_postgres::{Row, types::Json};
use uuid::Uuid;

use crate::PlanStore;

/// A change of a plan. `None` leaves a value unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanStepChange {
    /// The id of the step.
    pub step: String,
    /// The step's new title.
    pub title: Option<String>,
    /// The step's new status.
    pub status: Option<PlanStepStatus>,
    /// The step's new result.
    pub result: Option<String>,
    /// The plan's phase from now on.
    pub current_phase: Option<String>,
    /// The condition that the stored plan must meet.
    pub precondition: Precondition,
}

impl PlanStore<'_> {
    /// Stores the plan of a thread in place of the one before.
    ///
    /// # Errors
    /// `ThreadNotFound`, `EtagChanged`.
    pub async fn put_plan(
        self,
        thread: ThreadId,
        precondition: &Precondition,
        plan: &NewPlan,
    ) -> Result<Plan, StoreError> {
        let tenant = &self.caller.tenant;
        let NewPlan {
            goal,
            current_phase,
            iteration_count,
            steps,
            data,
        } = plan;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            &precondition.as_sql(),
            goal,
            current_phase,
            iteration_count,
            &Json(steps),
            &Json(data),
        ];
        changed(&only(
            self.store
                .pool
                .call(self.caller, query!("plans/put"), params)
                .await?,
        )?)
    }

    /// Reads the plan of a thread.
    ///
    /// # Errors
    /// `ThreadNotFound`, `PlanError::NotFound`.
    pub async fn get_plan(self, thread: ThreadId) -> Result<Plan, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid()];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[(GET_THREAD, params), (query!("plans/get"), params)],
            )
            .await?;
        let [threads, plans] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        one_thread(threads)?;
        plan(plans.first().ok_or(StoreError::Plan(PlanError::NotFound))?)
    }

    /// Changes one step of a plan. Changes of one plan happen one after the
    /// other, so none is lost.
    ///
    /// # Errors
    /// `ThreadNotFound`, `PlanError::NotFound`, `EtagChanged`,
    /// `PlanError::StepNotFound`.
    pub async fn update_plan_step(
        self,
        thread: ThreadId,
        change: &PlanStepChange,
    ) -> Result<Plan, StoreError> {
        let tenant = &self.caller.tenant;
        let PlanStepChange {
            step,
            title,
            status,
            result,
            current_phase,
            precondition,
        } = change;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            &precondition.as_sql(),
            step,
            title,
            &status.map(PlanStepStatus::as_str),
            result,
            current_phase,
        ];
        let rows = self
            .store
            .pool
            .call(self.caller, query!("plans/update_step"), params)
            .await?;
        changed(&only(rows)?)
    }

    /// Erases the plan of a thread; whether there was one. Idempotent.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn delete_plan(self, thread: ThreadId) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &self.caller.actor, &thread.uuid()];
        let row = only(
            self.store
                .pool
                .call(self.caller, query!("plans/delete"), params)
                .await?,
        )?;
        match column(&row, "status")? {
            "ok" => column(&row, "deleted"),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            other => Err(unknown_status(other)),
        }
    }
}

fn changed(row: &Row) -> Result<Plan, StoreError> {
    match column(row, "status")? {
        "ok" => plan(row),
        "thread_not_found" => Err(StoreError::ThreadNotFound),
        "plan_not_found" => Err(StoreError::Plan(PlanError::NotFound)),
        "step_not_found" => Err(StoreError::Plan(PlanError::StepNotFound)),
        "etag_changed" => Err(StoreError::EtagChanged {
            etag: column::<Option<Uuid>>(row, "version")?.map(|version| version.to_string()),
        }),
        other => Err(unknown_status(other)),
    }
}

/// Reads a plan.
pub(crate) fn plan(row: &Row) -> Result<Plan, StoreError> {
    Ok(Plan {
        plan: NewPlan {
            goal: column(row, "goal")?,
            current_phase: column(row, "current_phase")?,
            iteration_count: column(row, "iteration_count")?,
            steps: column::<Json<Vec<PlanStep>>>(row, "steps")?.0,
            data: column::<Json<JsonObject>>(row, "data")?.0,
        },
        etag: column::<Uuid>(row, "version")?.to_string(),
        created: column(row, "created_at")?,
        updated: column(row, "updated_at")?,
    })
}
