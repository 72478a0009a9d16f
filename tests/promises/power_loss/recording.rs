//! What processes did to the files of a folder, call by call and with their data, and what they said in between.

use std::path::PathBuf;

/// A file or a folder, by whatever names it is found.
pub type Inode = usize;
/// Where everything begins.
pub const ROOT: Inode = 0;

/// One thing that happened.
#[derive(Debug)]
pub enum Step {
    Write {
        file: Inode,
        at: usize,
        data: Vec<u8>,
    },
    Resize {
        file: Inode,
        size: usize,
    },
    /// A name for something: made just now, or one more.
    Enter {
        folder: Inode,
        name: String,
        inode: Inode,
    },
    Leave {
        folder: Inode,
        name: String,
    },
    Move {
        from: (Inode, String),
        to: (Inode, String),
        inode: Inode,
    },
    /// Of what came before the step `begun`.
    Sync {
        inode: Inode,
        begun: usize,
    },
    Said(String),
}

/// All that happened, in order.
#[derive(Default)]
pub struct Recording {
    pub steps: Vec<Step>,
    /// The last path of each file and folder.
    pub paths: Vec<PathBuf>,
    pub is_folder: Vec<bool>,
    /// The writes and changes of size of each file.
    pub of_file: Vec<Vec<usize>>,
}

impl Recording {
    /// What happened, in words.
    pub fn tell(&self, step: usize) -> String {
        let path = |inode: &Inode| self.paths[*inode].display().to_string();
        match &self.steps[step] {
            Step::Write { file, at, data } => format!("{} bytes at {at} of {}", data.len(), path(file)),
            Step::Resize { file, size } => format!("{} to {size} bytes", path(file)),
            Step::Enter { folder, name, .. } => format!("{name} made in {:?}", path(folder)),
            Step::Leave { folder, name } => format!("{name} removed from {:?}", path(folder)),
            Step::Move { from, to, .. } => {
                format!("{} of {:?} moved to {} of {:?}", from.1, path(&from.0), to.1, path(&to.0))
            }
            Step::Sync { inode, .. } => format!("{:?} synced", path(inode)),
            Step::Said(said) => format!("said {said:?}"),
        }
    }
}
