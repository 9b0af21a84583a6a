//! Users and apps.

use memory_contract::proto::{AppRef, UserRef};
use memory_contract::{AppId, Invalid, InvalidFields, UserId, check, limits};

use super::Fields;

/// Reads one user of an app, where an empty `user_id` is data that belongs to no user.
pub fn user_from(field: &str, user: UserRef) -> Result<(AppId, UserId), InvalidFields> {
    let UserRef { app_id, user_id } = user;
    let mut fields = Fields::default();
    let app = fields.get(app_id_from(field, app_id));
    let user = check::text("user_id", user_id, limits::USER_ID_CHARS);
    let user = fields.get(user.map_err(|invalid| invalid.within(field)));
    let (app, user) = fields.all(app.zip(user))?;
    Ok((app, UserId::new(user)))
}

/// Reads a user that is required, as [`user_from`] does.
pub fn required_user_from(user: Option<UserRef>) -> Result<(AppId, UserId), InvalidFields> {
    let field = "user";
    user_from(field, user.ok_or_else(|| Invalid::missing(field))?)
}

/// Reads an app.
pub fn app_from(field: &str, app: AppRef) -> Result<AppId, Invalid> {
    let AppRef { app_id } = app;
    app_id_from(field, app_id)
}

fn app_id_from(field: &str, app_id: String) -> Result<AppId, Invalid> {
    check::required_text("app_id", app_id, limits::APP_ID_CHARS)
        .map(AppId::new)
        .map_err(|invalid| invalid.within(field))
}
