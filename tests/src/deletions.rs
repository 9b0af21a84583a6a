//! Helpers for tests that delete users.

use std::time::Duration;

use memory_contract::proto::{
    DeleteUserRequest, Deletion, DeletionState, GetDeletionRequest, UserRef, delete_user_request,
};

use crate::{Client, eventually_some};

/// How many rows of a place a deletion has erased.
///
/// # Panics
/// If the receipt lacks the place.
pub fn erased(receipt: &Deletion, name: &str) -> i64 {
    let place = receipt.places.iter().find(|place| place.name == name);
    place.unwrap_or_else(|| panic!("{name}")).deleted_count
}

impl Client {
    /// Deletes a user of an app, or with an empty one of all apps.
    pub async fn delete_user(&self, app: &str, user: &str) -> Deletion {
        let target = match app {
            "" => delete_user_request::Target::UserOfAllApps(user.to_owned()),
            app => delete_user_request::Target::User(UserRef {
                app_id: app.to_owned(),
                user_id: user.to_owned(),
            }),
        };
        let request = DeleteUserRequest {
            target: Some(target),
        };
        self.call(request).await.deletion.unwrap()
    }

    /// The receipt of a deletion.
    pub async fn deletion(&self, deletion_id: &str) -> Deletion {
        let request = GetDeletionRequest {
            deletion_id: deletion_id.to_owned(),
        };
        self.call(request).await.deletion.unwrap()
    }

    /// Waits for the end of a deletion. Its receipt says that nothing is left.
    ///
    /// # Panics
    /// If it takes longer than `within`, or something is left.
    pub async fn finished(&self, deletion: &Deletion, within: Duration) -> Deletion {
        let receipt = eventually_some("the deletion is finished", within, async || {
            let receipt = self.deletion(&deletion.deletion_id).await;
            (receipt.state() == DeletionState::Finished).then_some(receipt)
        })
        .await;
        assert_eq!(
            (receipt.step.as_str(), receipt.last_error.as_str()),
            ("done", "")
        );
        assert!(receipt.finish_time.is_some());
        assert!(receipt.places.iter().any(|place| place.name == "index"));
        for place in &receipt.places {
            assert_eq!(place.remaining_count, 0, "{receipt:?}");
        }
        receipt
    }
}
