//! Flags of `recollect subscription`.

use clap::{Args, Subcommand};

use crate::target::ClientArgs;

/// `recollect subscription`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect subscription create crm --app support --url https://crm.example.com/hooks
  recollect subscription create log --action append_messages --action delete_thread
  recollect subscription stream log --json
  recollect subscription list

Without --url the events of a subscription are only streamed. create and delete need a
key with the scope `admin`, and so does stream if the subscription has a URL.")]
pub struct SubscriptionArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: SubscriptionCommand,
}

/// The commands for subscriptions.
#[derive(Debug, Clone, Subcommand)]
pub enum SubscriptionCommand {
    /// Create a subscription, and print its secret.
    Create(CreateSubscriptionArgs),
    /// List the subscriptions with what waits in them.
    List(ClientArgs),
    /// Show a subscription.
    Show(SubscriptionNameArgs),
    /// Delete a subscription with the events that wait in it.
    Delete(SubscriptionNameArgs),
    /// Print the events of a subscription, and acknowledge those that were printed.
    Stream(SubscriptionNameArgs),
}

/// `recollect subscription create`.
#[derive(Debug, Clone, Args)]
pub struct CreateSubscriptionArgs {
    /// The name of the subscription.
    pub name: String,
    /// Only changes of this app. [default: of all]
    #[arg(long, default_value = "", hide_default_value = true)]
    pub app: String,
    /// Only changes of this user. [default: of all]
    #[arg(long, default_value = "", hide_default_value = true)]
    pub user: String,
    /// Only changes of this kind, such as `append_messages`; repeatable. [default: all]
    #[arg(long = "action", value_name = "ACTION")]
    pub actions: Vec<String>,
    /// Send the events to this URL as webhooks.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub url: String,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// A command about one subscription.
#[derive(Debug, Clone, Args)]
pub struct SubscriptionNameArgs {
    /// The name of the subscription.
    pub name: String,
    #[command(flatten)]
    pub client: ClientArgs,
}
