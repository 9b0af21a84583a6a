use memory_agent_contract::plan::{NewAttempt, NewPlan};
use memory_contract::{RequestId, ThreadId, json::JsonObject, precondition::Precondition};
use memory_store::{AttemptQuery, PlanError, PlanStepChange, StoreError};

use crate::world::World;

fn plan() -> NewPlan {
    NewPlan {
        goal: "goal".to_owned(),
        current_phase: String::new(),
        iteration_count: 0,
        steps: Vec::new(),
        data: JsonObject::default(),
    }
}

fn attempt() -> NewAttempt {
    NewAttempt {
        task: String::new(),
        action: "action".to_owned(),
        result: String::new(),
        error: String::new(),
        diagnosis: String::new(),
        fix: String::new(),
    }
}

/// A thread with a plan and an attempt.
async fn at_work(world: &World) -> ThreadId {
    let (store, caller) = (&world.store, &world.caller);
    let thread = world.thread().await.id;
    store
        .plans(caller)
        .put_plan(thread, &Precondition::Absent, &plan())
        .await
        .unwrap();
    store
        .plans(caller)
        .append_attempt(thread, attempt(), None)
        .await
        .unwrap();
    thread
}

#[tokio::test]
async fn nothing_of_a_plan_outlives_its_thread() {
    let world = World::new().await;
    let (store, caller) = (&world.store, &world.caller);
    let owner = world.owner().await;
    let [kept, cleared, deleted, expired] = [
        at_work(&world).await,
        at_work(&world).await,
        at_work(&world).await,
        at_work(&world).await,
    ];
    store.threads(caller).clear_thread(cleared).await.unwrap();
    store.threads(caller).delete_thread(deleted).await.unwrap();
    owner
        .execute(
            "UPDATE recollect.threads SET expires_at = now() - interval '1 second' WHERE thread_id = $1",
            &[&expired.uuid()],
        )
        .await
        .unwrap();
    // Expired threads are not found, even before they are swept.
    let change = PlanStepChange::default();
    let query = AttemptQuery {
        thread: expired,
        task: None,
        failed: false,
        after: None,
        limit: 10,
        max_bytes: 1_000,
    };
    let put = store
        .plans(caller)
        .put_plan(expired, &Precondition::Unchecked, &plan())
        .await;
    let log = store.plans(caller).append_attempt(expired, attempt(), None);
    for error in [
        put.unwrap_err(),
        store.plans(caller).get_plan(expired).await.unwrap_err(),
        store
            .plans(caller)
            .update_plan_step(expired, &change)
            .await
            .unwrap_err(),
        store.plans(caller).delete_plan(expired).await.unwrap_err(),
        log.await.unwrap_err(),
        store.plans(caller).list_attempts(&query).await.unwrap_err(),
        store
            .plans(caller)
            .progress(expired, None, 10, 1_000)
            .await
            .unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::ThreadNotFound), "{error:?}");
    }
    assert_eq!(
        world
            .workers
            .erasures(store)
            .sweep_threads(10)
            .await
            .unwrap(),
        1
    );
    for table in ["plans", "attempts"] {
        let left = owner
            .query(&format!("SELECT thread_id FROM recollect.{table}"), &[])
            .await
            .unwrap();
        let left: Vec<uuid::Uuid> = left.iter().map(|row| row.get(0)).collect();
        assert_eq!(left, [kept.uuid()], "{table}");
    }
}

#[tokio::test]
async fn a_full_log_takes_no_more() {
    let world = World::new().await;
    let (store, caller) = (&world.store, &world.caller);
    let thread = at_work(&world).await;
    world
        .owner()
        .await
        .execute(
            "INSERT INTO recollect.attempts (tenant_id, thread_id, number, task, task_number, action,
                 result, error, diagnosis, fix, bytes)
             SELECT tenant_id, thread_id, n, task, n, action, result, error, diagnosis, fix, bytes
             FROM recollect.attempts, generate_series(2, 9999) AS n",
            &[],
        )
        .await
        .unwrap();
    let last = Some(RequestId::new());
    let logged = store
        .plans(caller)
        .append_attempt(thread, attempt(), last)
        .await
        .unwrap();
    assert_eq!(
        (logged.attempt.number, logged.attempt.task_number),
        (10_000, 10_000)
    );
    let full = store
        .plans(caller)
        .append_attempt(thread, attempt(), Some(RequestId::new()))
        .await;
    assert!(matches!(full, Err(StoreError::Plan(PlanError::LogFull))));
    // A retry of a stored attempt adds none.
    let again = store
        .plans(caller)
        .append_attempt(thread, attempt(), last)
        .await
        .unwrap();
    assert!(again.replayed);
    assert_eq!(again.attempt, logged.attempt);
    // Other threads go on.
    at_work(&world).await;
}
