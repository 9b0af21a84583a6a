//! Lists users and apps.

use memory_contract::{
    AppId, ThreadId, UserId,
    listing::{App, User},
};
use memory_database::{
    Page, StoreError,
    page::one_more,
    rows::{column, owner_of},
};
use memory_postgres::{Params, query};

use crate::ThreadStore;

impl ThreadStore<'_> {
    /// The app and the user of a thread, expired or not; `None` if it is not stored.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn owner(self, thread: ThreadId) -> Result<Option<(AppId, UserId)>, StoreError> {
        let params: Params<'_> = &[&self.caller.tenant.as_str(), &thread.uuid()];
        let owner = query!("threads/owner");
        let found = self.store.pool.within(self.caller, owner, params).await?;
        found.first().map(owner_of).transpose()
    }

    /// Lists the users of an app that have threads or memories, by id; the empty one
    /// stands for data that belongs to no user.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_users(
        self,
        app: &AppId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<User, String>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &app.as_str(),
            &after.unwrap_or_default(),
            &after.is_some(),
            &one_more(limit),
        ];
        let list = query!("users/list");
        let found = self.store.pool.within(self.caller, list, params).await?;
        let users = found.iter().map(|row| {
            let name: String = column(row, "user_id")?;
            let user = User {
                id: UserId::new(name.clone()),
                thread_count: column(row, "thread_count")?,
                message_count: column(row, "message_count")?,
                memory_count: column(row, "memory_count")?,
                active: column(row, "updated_at")?,
            };
            Ok((name, user))
        });
        Ok(Page::cut(users.collect::<Result<_, StoreError>>()?, limit))
    }

    /// Lists the apps of the tenant that have threads or memories, by id.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_apps(
        self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<App, String>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &after.unwrap_or_default(),
            &one_more(limit),
        ];
        let list = query!("apps/list");
        let found = self.store.pool.within(self.caller, list, params).await?;
        let apps = found.iter().map(|row| {
            let name: String = column(row, "app_id")?;
            let app = App {
                id: AppId::new(name.clone()),
                active: column(row, "updated_at")?,
            };
            Ok((name, app))
        });
        Ok(Page::cut(apps.collect::<Result<_, StoreError>>()?, limit))
    }
}
