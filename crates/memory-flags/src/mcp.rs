//! Flags of `recollect mcp`.

use clap::Args;

use crate::target::ServerArgs;

/// `recollect mcp`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect mcp --user ada
  recollect mcp --addr https://memory.example.com --app support --user ada

An entry in the configuration of an MCP client:
  {\"mcpServers\": {\"recollect\": {
    \"command\": \"recollect\", \"args\": [\"mcp\", \"--user\", \"ada\"],
    \"env\": {\"RECOLLECT_API_KEY\": \"...\"}}}}

It needs a running server and connects with the first call. A client that speaks HTTP can
use /mcp on the server's own port instead.")]
pub struct McpArgs {
    /// The app of all calls. [default: each call names it, or else it is `default`]
    #[arg(long, env = "RECOLLECT_APP", value_name = "APP")]
    pub app: Option<String>,
    /// The user of all calls. [default: each call names it]
    #[arg(long, env = "RECOLLECT_USER", value_name = "USER")]
    pub user: Option<String>,
    #[command(flatten)]
    pub server: ServerArgs,
}
