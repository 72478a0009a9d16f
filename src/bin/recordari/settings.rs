//! Where do a command's settings come from? Flags, then the environment (clap reads both), then the
//! file `config.toml` in the store's folder, then the one in the user's configuration folder, then
//! defaults that just work.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use recordari::embed::ModelSpec;
use recordari::{CipherKey, Error, Namespace, Policy, Principal, Reach, Result, Sensitivity};

use crate::cli::Common;

/// Stands for no cipher key, where one would be taken from a setting further down.
pub const NO_KEY: &str = "none";
/// The name of a configuration file, in either place.
pub const CONFIG_FILE: &str = "config.toml";
/// The policy that a store brings along, unless a setting names another.
const POLICY_FILE: &str = "policy.toml";
/// What a configuration file may hold.
pub const KEYS: &[&str] =
    &["store", "cipher_key_file", "tenant", "user", "project", "agent", "clearance", "policy", "model"];

/// The settings of one command.
pub struct Settings {
    /// The folder of the store.
    pub store: PathBuf,
    /// The file with the key that the store is encrypted with, if it is.
    cipher_file: Option<PathBuf>,
    /// Who asks.
    pub principal: Principal,
    /// The policy file, if one is named or lies in the store.
    pub policy_file: Option<PathBuf>,
    /// The model.
    pub model: ModelSpec,
}

impl Settings {
    /// Works out the settings.
    pub fn of(common: &Common) -> Result<Settings> {
        let of_user = Config::read(&user_config()?)?;
        let store = common.store.clone().or_else(|| of_user.path("store"));
        let store = store.map_or_else(default_store, Ok)?;
        let of_store = Config::read(&store.join(CONFIG_FILE))?;
        let files = [of_store, of_user];
        let named = |flag: &Option<String>, key: &str| {
            let flag = flag.clone().filter(|text| !text.is_empty());
            flag.or_else(|| files.iter().find_map(|file| file.text(key)))
        };
        let user = if common.no_user { None } else { named(&common.user, "user").or_else(login_name) };
        let tenant = named(&common.tenant, "tenant").unwrap_or_else(|| "local".to_owned());
        let namespace = Namespace::from_parts(
            &tenant,
            user.as_deref(),
            named(&common.project, "project").as_deref(),
            named(&common.agent, "agent").as_deref(),
        )?;
        let clearance = match common.clearance {
            Some(clearance) => clearance,
            None => match files.iter().find_map(|file| file.text("clearance")) {
                Some(text) => Sensitivity::parse(&text)?,
                None => Sensitivity::Internal,
            },
        };
        let policy_file = common.policy.clone().or_else(|| files.iter().find_map(|file| file.path("policy")));
        let policy_file = policy_file.or_else(|| Some(store.join(POLICY_FILE)).filter(|path| path.exists()));
        let flag = common.model.clone().filter(|text| !text.is_empty());
        let model = match flag {
            Some(text) => Some(ModelSpec::parse(&text)?),
            None => files.iter().find_map(|file| file.model().transpose()).transpose()?,
        };
        let cipher_file = common.cipher_key_file.clone();
        let in_file = |file: &Config| match file.text("cipher_key_file").as_deref() {
            Some(NO_KEY) => Some(PathBuf::from(NO_KEY)),
            _ => file.path("cipher_key_file"),
        };
        let cipher_file = cipher_file.or_else(|| files.iter().find_map(in_file));
        Ok(Settings {
            cipher_file: cipher_file.filter(|file| file != Path::new(NO_KEY)),
            principal: Principal::new(namespace).with_clearance(clearance).with_reach(match common.below {
                true => Reach::Below,
                false => Reach::Own,
            }),
            policy_file,
            model: model.unwrap_or(ModelSpec::Embedded),
            store,
        })
    }

    /// What the store is encrypted with; none: it is not.
    pub fn cipher(&self) -> Result<Option<CipherKey>> {
        self.cipher_file.as_deref().map(|file| cipher_of(file, &self.store)).transpose()
    }

    /// The policy; an error makes the engine refuse writes, and nothing else.
    pub fn policy(&self) -> Result<Policy> {
        match &self.policy_file {
            Some(file) => read_policy(file),
            None => Ok(Policy::default()),
        }
    }
}

/// The cipher key of a file, which must not lie beside what it protects.
pub fn cipher_of(file: &Path, store: &Path) -> Result<CipherKey> {
    let key = CipherKey::read(file)?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real(file).starts_with(real(store)) {
        let what = format!("must not lie in the store's folder, which it protects: {}", file.display());
        return Err(Error::invalid("cipher key", what));
    }
    Ok(key)
}

/// Reads a policy file; the error names it.
pub fn read_policy(file: &Path) -> Result<Policy> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::Policy(format!("{}: {error}", file.display())))?;
    Policy::parse(&text).map_err(|error| match error {
        Error::Policy(what) => Error::Policy(format!("{}: {}", file.display(), on_one_line(&what))),
        other => other,
    })
}

/// What is wrong with a file, on one line: where, and what, without the picture of the line in between.
fn on_one_line(what: &str) -> String {
    let is_picture =
        |line: &&str| line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').starts_with('|');
    let lines = what.lines().filter(|line| !is_picture(line)).map(str::trim);
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The configuration of the person who runs this.
pub fn user_config() -> Result<PathBuf> {
    Ok(base()?.config_dir().join("recordari").join(CONFIG_FILE))
}

fn default_store() -> Result<PathBuf> {
    Ok(base()?.data_dir().join("recordari"))
}

fn base() -> Result<impl BaseStrategy> {
    etcetera::choose_base_strategy().map_err(|_| Error::Io {
        path: PathBuf::from("the home folder"),
        source: std::io::Error::new(std::io::ErrorKind::NotFound, "not found; name a store with --store DIR"),
    })
}

/// The name that the person logged in with; in a container without one, their home folder's.
fn login_name() -> Option<String> {
    let named = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let home = || etcetera::home_dir().ok()?.file_name()?.to_str().map(str::to_owned);
    named.filter(|name| !name.trim().is_empty()).or_else(home)
}

/// One configuration file; empty when there is none.
struct Config {
    folder: PathBuf,
    table: toml::Table,
}

impl Config {
    fn read(file: &Path) -> Result<Config> {
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::io(file)(error)),
        };
        let wrong =
            |what: String| Error::io(file)(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| wrong(on_one_line(&error.to_string())))?;
        for (key, value) in &table {
            if !KEYS.contains(&key.as_str()) {
                return Err(wrong(format!("must not have {key:?}; it has {}", KEYS.join(", "))));
            }
            if !value.is_str() {
                return Err(wrong(format!("{key} must be text in quotes")));
            }
        }
        Ok(Config { folder, table })
    }

    fn text(&self, key: &str) -> Option<String> {
        self.table.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// A path; a relative one starts at the file's own folder.
    fn path(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(|text| self.folder.join(text))
    }

    fn model(&self) -> Result<Option<ModelSpec>> {
        let Some(text) = self.text("model") else {
            return Ok(None);
        };
        Ok(Some(match ModelSpec::parse(&text)? {
            ModelSpec::Folder(folder) => ModelSpec::Folder(self.folder.join(folder)),
            other => other,
        }))
    }
}
