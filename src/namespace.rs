//! Where a record lives and who may see it: `Namespace`, `Principal`, `Scope`.
//! A write names one namespace, a read names one scope; they are never interchangeable.

use std::fmt;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use crate::error::{Error, Result};
use crate::trust::{Authority, Sensitivity};

/// The longest part of a namespace, in bytes. Long enough for a UUID, an e-mail address or a path;
/// short enough that ids can't be used to store text.
pub const PART_BYTES_MAX: usize = 200;

/// Where one record lives: tenant, and optionally user, project and agent.
///
/// Typed parts, never a joined string, so no separator in a part can reach another's memories.
/// `project: None` means all of this user's projects; the same for agent; `user: None` is shared by
/// the whole tenant. Parts are compared exactly, after Unicode NFC.
///
/// ```
/// use recordari::Namespace;
/// let home = Namespace::new("acme")?.user("mei")?.project("website")?;
/// assert_eq!(home.tenant(), "acme");
/// assert!(Namespace::new("acme")?.user("").is_err());
/// # Ok::<(), recordari::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace {
    // Shared: every record that is read has one, and most have the same.
    tenant: Arc<str>,
    user: Option<Arc<str>>,
    project: Option<Arc<str>>,
    agent: Option<Arc<str>>,
}

impl Namespace {
    /// The namespace of that tenant, shared by all its users, projects and agents.
    ///
    /// # Errors
    /// `Invalid` when it is empty, longer than 200 bytes, or holds control characters.
    pub fn new(tenant: impl Into<String>) -> Result<Namespace> {
        Ok(Namespace {
            tenant: part("tenant", &Into::<String>::into(tenant))?,
            user: None,
            project: None,
            agent: None,
        })
    }

    /// Narrows to one user.
    ///
    /// # Errors
    /// As [`Namespace::new`].
    pub fn user(mut self, user: impl Into<String>) -> Result<Namespace> {
        self.user = Some(part("user", &Into::<String>::into(user))?);
        Ok(self)
    }

    /// Narrows to one project; errors as [`Namespace::new`].
    pub fn project(mut self, project: impl Into<String>) -> Result<Namespace> {
        self.project = Some(part("project", &Into::<String>::into(project))?);
        Ok(self)
    }

    /// Narrows to one agent; errors as [`Namespace::new`].
    pub fn agent(mut self, agent: impl Into<String>) -> Result<Namespace> {
        self.agent = Some(part("agent", &Into::<String>::into(agent))?);
        Ok(self)
    }

    /// Builds a namespace from optional parts, as doors receive them; errors as [`Namespace::new`].
    pub fn from_parts(
        tenant: &str,
        user: Option<&str>,
        project: Option<&str>,
        agent: Option<&str>,
    ) -> Result<Namespace> {
        Ok(Namespace {
            tenant: part("tenant", tenant)?,
            user: user.map(|user| part("user", user)).transpose()?,
            project: project.map(|project| part("project", project)).transpose()?,
            agent: agent.map(|agent| part("agent", agent)).transpose()?,
        })
    }

    /// A namespace whose parts were checked before they were stored.
    pub(crate) fn stored(
        tenant: &str,
        user: Option<&str>,
        project: Option<&str>,
        agent: Option<&str>,
    ) -> Namespace {
        let [user, project, agent] = [user, project, agent].map(|part| part.map(Arc::from));
        Namespace { tenant: Arc::from(tenant), user, project, agent }
    }

    /// The tenant.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The user, or none: shared by the tenant.
    pub fn user_part(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The project, or none: all of them.
    pub fn project_part(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// The agent, or none: all of them.
    pub fn agent_part(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// How many of user, project and agent are named: the more, the narrower.
    pub fn depth(&self) -> u8 {
        [&self.user, &self.project, &self.agent].iter().filter(|part| part.is_some()).count() as u8
    }

    /// Whether what lives here is seen by everyone who sees `other`, and by others too.
    pub fn is_wider_than(&self, other: &Namespace) -> bool {
        let covers = |wide: &Option<Arc<str>>, narrow: &Option<Arc<str>>| wide.is_none() || wide == narrow;
        self != other
            && self.tenant == other.tenant
            && covers(&self.user, &other.user)
            && covers(&self.project, &other.project)
            && covers(&self.agent, &other.agent)
    }
}

/// Prints the parts by name: `tenant=acme user=mei`. For people; nothing parses it.
impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tenant={}", self.tenant)?;
        for (name, part) in [("user", &self.user), ("project", &self.project), ("agent", &self.agent)] {
            if let Some(part) = part {
                write!(f, " {name}={part}")?;
            }
        }
        Ok(())
    }
}

/// How far a caller sees below its own namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Its own namespace and the wider ones: an agent at work.
    #[default]
    Own,
    /// All narrower ones too: a person who looks at all of their projects, an administrator of a tenant.
    Below,
}

/// Who is asking, and what they may do. It comes from the trusted session, never from the
/// content of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The caller's own place: its scope is worked out from this.
    pub namespace: Namespace,
    /// The most sensitive records that the caller may read and write.
    pub clearance: Sensitivity,
    /// The highest authority that the caller may give to what it writes.
    pub authority: Authority,
    /// How far below its own place the caller sees and writes.
    pub reach: Reach,
}

impl Principal {
    /// A caller that may read and write internal records, as the person it acts for.
    pub fn new(namespace: Namespace) -> Principal {
        Principal {
            namespace,
            clearance: Sensitivity::Internal,
            authority: Authority::UserExplicit,
            reach: Reach::Own,
        }
    }

    /// The same caller with another reach.
    pub fn with_reach(self, reach: Reach) -> Principal {
        Principal { reach, ..self }
    }

    /// The same caller with another clearance.
    pub fn with_clearance(self, clearance: Sensitivity) -> Principal {
        Principal { clearance, ..self }
    }

    /// The same caller with another highest authority.
    pub fn with_authority(self, authority: Authority) -> Principal {
        Principal { authority, ..self }
    }

    /// The namespaces that this caller may see.
    pub fn scope(&self) -> Scope {
        Scope::of(&self.namespace, self.reach)
    }

    /// Whether a record that lives in `namespace` may be seen: in its own, a wider one, or a narrower one if
    /// the reach is that far.
    pub fn sees(&self, namespace: &Namespace) -> bool {
        let own = &self.namespace;
        namespace == own
            || namespace.is_wider_than(own)
            || self.reach == Reach::Below && own.is_wider_than(namespace)
    }
}

/// The namespaces that a caller may see: its own and every one that is wider, at most eight; and all that
/// are narrower if its reach is [`Reach::Below`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Its own and the wider ones, narrowest first.
    named: Vec<Namespace>,
    reach: Reach,
}

impl Scope {
    fn of(namespace: &Namespace, reach: Reach) -> Scope {
        let own_or_none = |part: &Option<Arc<str>>| match part {
            Some(part) => vec![Some(part.clone()), None],
            None => vec![None],
        };
        let mut named = Vec::new();
        for user in own_or_none(&namespace.user) {
            for project in own_or_none(&namespace.project) {
                for agent in own_or_none(&namespace.agent) {
                    named.push(Namespace {
                        tenant: namespace.tenant.clone(),
                        user: user.clone(),
                        project: project.clone(),
                        agent,
                    });
                }
            }
        }
        Scope { named, reach }
    }

    /// The caller's own namespace and every wider one, narrowest first.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.named
    }

    /// Whether everything that is narrower than this namespace is seen.
    pub fn covers_below(&self, namespace: &Namespace) -> bool {
        self.root().is_some_and(|root| root == namespace || root.is_wider_than(namespace))
    }

    /// The namespace below which everything is seen too, if the reach is that far.
    pub fn root(&self) -> Option<&Namespace> {
        match self.reach {
            Reach::Own => None,
            Reach::Below => self.named.first(),
        }
    }
}

fn part(field: &'static str, text: &str) -> Result<Arc<str>> {
    let text = nfc(text);
    if text.trim().is_empty() || text.len() > PART_BYTES_MAX {
        return Err(Error::invalid(field, format!("must be 1 to {PART_BYTES_MAX} bytes long")));
    }
    if text.trim() != text || text.chars().any(char::is_control) {
        return Err(Error::invalid(field, "must not hold control characters, nor begin or end with a space"));
    }
    Ok(text.into())
}

fn nfc(text: &str) -> String {
    text.nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_one_to_eight_namespaces_narrowest_first() {
        let full = Namespace::from_parts("t", Some("u"), Some("p"), Some("a")).unwrap();
        let scope = Principal::new(full.clone()).scope();
        assert_eq!(scope.namespaces().len(), 8);
        assert_eq!(scope.namespaces()[0], full);
        assert!(scope.namespaces().iter().skip(1).all(|wide| wide.is_wider_than(&full)));
        assert_eq!(Principal::new(Namespace::new("t").unwrap()).scope().namespaces().len(), 1);
    }

    #[test]
    fn separators_in_a_part_reach_nobody_else() {
        let tricky = Namespace::new("t").unwrap().user("u1&agent_id=a9").unwrap();
        let plain = Namespace::new("t").unwrap().user("u1").unwrap().agent("a9").unwrap();
        assert!(!Principal::new(tricky.clone()).sees(&plain));
        assert!(!Principal::new(plain).sees(&tricky));
    }

    #[test]
    fn parts_are_bounded_and_equal_across_unicode_forms() {
        assert!(Namespace::new("t").unwrap().user("x".repeat(201)).is_err());
        assert!(Namespace::new(" ").is_err());
        assert!(Namespace::new("t").unwrap().user("a\nb").is_err());
        let with = |user: &str| Namespace::new("t").unwrap().user(user).unwrap();
        assert_eq!(with("café"), with("cafe\u{301}"));
    }

    #[test]
    fn a_wide_reach_sees_what_is_narrower_and_nothing_beside() {
        let of = |user, project| Namespace::from_parts("t", user, project, None).unwrap();
        let mei = Principal::new(of(Some("mei"), None)).with_reach(Reach::Below);
        for seen in [of(Some("mei"), Some("a")), of(Some("mei"), None), of(None, None)] {
            assert!(mei.sees(&seen), "{seen}");
        }
        let agent = of(Some("mei"), None).agent("x").unwrap();
        assert!(mei.sees(&agent));
        for unseen in
            [of(Some("tom"), None), of(None, Some("a")), Namespace::new("u").unwrap().user("mei").unwrap()]
        {
            assert!(!mei.sees(&unseen), "{unseen}");
        }
        assert!(!Principal::new(of(Some("mei"), None)).sees(&of(Some("mei"), Some("a"))));
    }
}
