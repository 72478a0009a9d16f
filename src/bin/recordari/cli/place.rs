//! To which one namespace does a write go? The caller's own, or a wider one that it names by who shares
//! it.

use clap::{Args, ValueEnum};
use recordari::{Error, Namespace, Principal, Result};

/// The choice of a namespace.
#[derive(Args, Clone, Copy)]
pub struct Place {
    /// The namespace: your own, or one that is shared more widely
    #[arg(long = "in", value_name = "WHERE", value_enum)]
    place: Option<In>,
}

#[derive(Clone, Copy, ValueEnum)]
enum In {
    /// What the flags name in full: tenant, user, project and agent
    Own,
    /// The user, in all projects
    User,
    /// The project, for all its users
    Project,
    /// The user in the project, for all agents
    UserProject,
    /// The agent, for all users and projects
    Agent,
    /// Everyone in the tenant
    Tenant,
}

impl Place {
    /// The namespace that was chosen; none when nothing was.
    pub fn chosen(self, principal: &Principal) -> Result<Option<Namespace>> {
        let own = &principal.namespace;
        let (user, project, agent) = (own.user_part(), own.project_part(), own.agent_part());
        let need = |part: Option<&str>, flag: &str| match part {
            Some(part) => Ok(Some(part.to_owned())),
            None => Err(Error::invalid("--in", format!("needs {flag}"))),
        };
        let (user, project, agent) = match self.place {
            None => return Ok(None),
            Some(In::Own) => return Ok(Some(own.clone())),
            Some(In::User) => (need(user, "--user")?, None, None),
            Some(In::Project) => (None, need(project, "--project")?, None),
            Some(In::UserProject) => (need(user, "--user")?, need(project, "--project")?, None),
            Some(In::Agent) => (None, None, need(agent, "--agent")?),
            Some(In::Tenant) => (None, None, None),
        };
        Namespace::from_parts(own.tenant(), user.as_deref(), project.as_deref(), agent.as_deref()).map(Some)
    }
}
