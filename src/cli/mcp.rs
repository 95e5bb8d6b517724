//! `rehearsal mcp`: the service's tools for agents, on standard input and output.

use crate::secrets::Secret;
use crate::serve::Tools;

use super::args::McpArgs;
use super::exit;
use super::say::Say;

pub async fn mcp(args: McpArgs, say: Say) -> i32 {
    // Never an argument: those show in process lists.
    let token = std::env::var("REHEARSAL_TOKEN")
        .ok()
        .and_then(|t| Secret::new(t).ok());
    let Some(token) = token else {
        let why = "REHEARSAL_TOKEN is not set; make one with `rehearsal serve token add <owner>`";
        return say.fail(exit::USAGE, why);
    };
    let tools = match Tools::new(&args.broker, token) {
        Ok(tools) => tools,
        Err(error) => return say.fail(exit::USAGE, &error.to_string()),
    };
    match tools.serve().await {
        Ok(()) => exit::PASSED,
        Err(error) => say.fail(exit::ENVIRONMENT, &error.to_string()),
    }
}
