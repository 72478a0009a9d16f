//! Makes a recording of what strace writes. A call counts from its end on; a sync holds for what had ended when it began.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::recording::{Inode, ROOT, Recording, Step};
use crate::child::MARK;

/// The calls that strace is asked for. One of `STRANGE` ends the recording: it changes files in a way that is not known here.
pub const CALLS: &str = "openat,close,dup,dup2,dup3,fcntl,lseek,write,writev,pwrite64,pwritev,ftruncate,fallocate,\
     fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,mmap";
pub const STRANGE: &str =
    "open,creat,truncate,pwritev2,copy_file_range,sendfile,splice,symlink,symlinkat,sync,syncfs";

/// Reads what strace wrote, process after process.
pub struct Recorder {
    base: PathBuf,
    recording: Recording,
    /// What each folder lists now.
    entries: Vec<BTreeMap<String, Inode>>,
    sizes: Vec<usize>,
    open: HashMap<i64, Open>,
    said: Vec<u8>,
}

#[derive(Clone)]
struct Open {
    inode: Inode,
    position: Rc<Cell<usize>>,
    appends: bool,
}

impl Recorder {
    pub fn new(base: &Path) -> Recorder {
        let mut recorder = Recorder {
            base: base.to_owned(),
            recording: Recording::default(),
            entries: Vec::new(),
            sizes: Vec::new(),
            open: HashMap::new(),
            said: Vec::new(),
        };
        recorder.new_inode(true);
        recorder
    }

    /// Adds what one process did.
    pub fn read(&mut self, log: &Path) {
        let mut log = BufReader::new(File::open(log).unwrap());
        let mut begun: HashMap<String, (String, usize)> = HashMap::new();
        self.open.clear();
        let mut line = String::new();
        while log.read_line(&mut line).unwrap() > 0 {
            let (thread, call) = line.trim_end().split_once(' ').unwrap();
            let (thread, call) = (thread.to_owned(), call.trim_start());
            let now = self.recording.steps.len();
            if let Some(start) = call.strip_suffix("<unfinished ...>") {
                // Its number is free for others from here on.
                if let Some(fd) = start.strip_prefix("close(") {
                    self.open.remove(&number(fd.trim().trim_end_matches(')')));
                }
                begun.insert(thread, (start.trim_end().to_owned(), now));
            } else if let Some(rest) = call.strip_prefix("<... ") {
                let (start, at) = begun.remove(&thread).unwrap();
                if !start.starts_with("close(") {
                    self.hear(&format!("{start}{}", rest.split_once('>').unwrap().1), at);
                }
            } else if !call.starts_with("+++") && !call.starts_with("---") {
                self.hear(call, now);
            }
            line.clear();
        }
    }

    pub fn finish(self) -> Recording {
        self.recording
    }

    fn hear(&mut self, call: &str, begun: usize) {
        let (left, result) = call.rsplit_once(" = ").unwrap_or_else(|| panic!("{call:.200}"));
        let (name, arguments) = left.trim_end().strip_suffix(')').unwrap().split_once('(').unwrap();
        let result = result.split(' ').next().unwrap();
        if result == "?" || result.starts_with('-') {
            return;
        }
        let parts = parts(arguments);
        let fd = || number(parts[0]);
        let path = |at: usize| String::from_utf8(text(parts[at])).unwrap();
        match name {
            "openat" => self.open(parts[0], &path(1), parts[2], number(result)),
            "close" => drop(self.open.remove(&fd())),
            "dup" | "dup2" | "dup3" => self.share(fd(), number(result)),
            "fcntl" if parts[1].starts_with("F_DUPFD") => self.share(fd(), number(result)),
            "fcntl" => {}
            "lseek" => {
                if let Some(open) = self.open.get(&fd()) {
                    open.position.set(number(result) as usize);
                }
            }
            "write" | "writev" | "pwrite64" | "pwritev" => {
                let mut data = text(parts[1]);
                data.truncate(number(result) as usize);
                let at = name.starts_with('p').then(|| number(parts[3]) as usize);
                if fd() == 1 { self.said(&data) } else { self.write(fd(), at, data) }
            }
            "ftruncate" => {
                if let Some(open) = self.open.get(&fd()).cloned() {
                    self.resize(open.inode, number(parts[1]) as usize);
                }
            }
            "fallocate" => {
                if let Some(open) = self.open.get(&fd()).cloned() {
                    assert_eq!(parts[1], "0", "{call}");
                    let end = (number(parts[2]) + number(parts[3])) as usize;
                    self.resize(open.inode, end.max(self.sizes[open.inode]));
                }
            }
            "fsync" | "fdatasync" => {
                if let Some(open) = self.open.get(&fd()) {
                    self.recording.steps.push(Step::Sync { inode: open.inode, begun });
                }
            }
            "rename" => self.rename(("", &path(0)), ("", &path(1))),
            "renameat" | "renameat2" => self.rename((parts[0], &path(1)), (parts[2], &path(3))),
            "link" => self.link(("", &path(0)), ("", &path(1))),
            "linkat" => self.link((parts[0], &path(1)), (parts[2], &path(3))),
            "unlink" | "rmdir" => self.unlink("", &path(0)),
            "unlinkat" => self.unlink(parts[0], &path(1)),
            "mkdir" => self.make_folder("", &path(0)),
            "mkdirat" => self.make_folder(parts[0], &path(1)),
            // The index of SQLite's journal, which nothing after a loss of power relies on.
            "mmap" if arguments.contains("PROT_WRITE") && arguments.contains("MAP_SHARED") => {
                if let Some(open) = self.open.get(&number(parts[4])) {
                    let path = &self.recording.paths[open.inode];
                    assert!(path.to_str().unwrap().ends_with("-shm"), "{path:?} is written by mapping it");
                }
            }
            "mmap" => {}
            _ => panic!("the recorder does not know what this does: {call:.200}"),
        }
    }

    fn new_inode(&mut self, is_folder: bool) -> Inode {
        self.entries.push(BTreeMap::new());
        self.sizes.push(0);
        self.recording.paths.push(PathBuf::new());
        self.recording.is_folder.push(is_folder);
        self.recording.of_file.push(Vec::new());
        self.sizes.len() - 1
    }

    /// The folder that a path leads to and the name in it; none outside what is recorded.
    fn place(&self, from: &str, path: &str) -> Option<(Inode, String)> {
        let path = Path::new(path);
        let (mut folder, rest) = match path.strip_prefix(&self.base) {
            Ok(rest) => (ROOT, rest),
            Err(_) if path.is_absolute() || !from.starts_with(|first: char| first.is_ascii_digit()) => {
                return None;
            }
            Err(_) => (self.open.get(&number(from))?.inode, path),
        };
        let names: Vec<&str> = rest.iter().map(|name| name.to_str().unwrap()).collect();
        assert!(!names.contains(&".."), "{path:?}");
        let (last, before) = names.split_last()?;
        for name in before {
            folder = *self.entries[folder].get(*name)?;
        }
        Some((folder, (*last).to_owned()))
    }

    fn open(&mut self, from: &str, path: &str, flags: &str, fd: i64) {
        self.open.remove(&fd);
        let inode = match self.place(from, path) {
            None if Path::new(path) == self.base => ROOT,
            None => return,
            Some((folder, name)) => match self.entries[folder].get(&name) {
                Some(inode) => {
                    let inode = *inode;
                    if flags.contains("O_TRUNC") {
                        self.resize(inode, 0);
                    }
                    inode
                }
                None => {
                    assert!(flags.contains("O_CREAT"), "{path} was not recorded");
                    let inode = self.new_inode(false);
                    self.enter(folder, name, inode);
                    inode
                }
            },
        };
        let appends = flags.contains("O_APPEND");
        self.open.insert(fd, Open { inode, position: Rc::default(), appends });
    }

    fn share(&mut self, old: i64, new: i64) {
        match self.open.get(&old).cloned() {
            Some(open) => drop(self.open.insert(new, open)),
            None => drop(self.open.remove(&new)),
        }
    }

    fn said(&mut self, data: &[u8]) {
        self.said.extend_from_slice(data);
        while let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.said.drain(..=end).collect();
            if let Some((_, said)) = String::from_utf8_lossy(&line).trim_end().split_once(MARK) {
                self.recording.steps.push(Step::Said(said.to_owned()));
            }
        }
    }

    fn write(&mut self, fd: i64, at: Option<usize>, data: Vec<u8>) {
        let Some(Open { inode, position, appends }) = self.open.get(&fd).cloned() else { return };
        let start = match at {
            Some(at) => at,
            None if appends => self.sizes[inode],
            None => position.get(),
        };
        if at.is_none() {
            position.set(start + data.len());
        }
        self.sizes[inode] = self.sizes[inode].max(start + data.len());
        self.recording.of_file[inode].push(self.recording.steps.len());
        self.recording.steps.push(Step::Write { file: inode, at: start, data });
    }

    fn resize(&mut self, file: Inode, size: usize) {
        if self.sizes[file] != size {
            self.sizes[file] = size;
            self.recording.of_file[file].push(self.recording.steps.len());
            self.recording.steps.push(Step::Resize { file, size });
        }
    }

    fn enter(&mut self, folder: Inode, name: String, inode: Inode) {
        self.recording.paths[inode] = self.recording.paths[folder].join(&name);
        self.entries[folder].insert(name.clone(), inode);
        self.recording.steps.push(Step::Enter { folder, name, inode });
    }

    fn rename(&mut self, from: (&str, &str), to: (&str, &str)) {
        let (Some(from), Some(to)) = (self.place(from.0, from.1), self.place(to.0, to.1)) else {
            assert!(
                self.place(from.0, from.1).is_none() && self.place(to.0, to.1).is_none(),
                "moved in or out"
            );
            return;
        };
        let inode = self.entries[from.0].remove(&from.1).unwrap();
        self.entries[to.0].insert(to.1.clone(), inode);
        self.recording.paths[inode] = self.recording.paths[to.0].join(&to.1);
        self.recording.steps.push(Step::Move { from, to, inode });
    }

    fn link(&mut self, from: (&str, &str), to: (&str, &str)) {
        let (Some(from), Some(to)) = (self.place(from.0, from.1), self.place(to.0, to.1)) else { return };
        let inode = self.entries[from.0][&from.1];
        self.enter(to.0, to.1, inode);
    }

    fn unlink(&mut self, from: &str, path: &str) {
        let Some((folder, name)) = self.place(from, path) else { return };
        self.entries[folder].remove(&name).unwrap();
        self.recording.steps.push(Step::Leave { folder, name });
    }

    fn make_folder(&mut self, from: &str, path: &str) {
        let Some((folder, name)) = self.place(from, path) else { return };
        let inode = self.new_inode(true);
        self.enter(folder, name, inode);
    }
}

/// The arguments of a call: all texts are in hexadecimal digits, so that no comma is in one.
fn parts(arguments: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, byte) in arguments.bytes().enumerate() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(arguments[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(arguments[start..].trim());
    parts
}

/// All quoted texts of an argument, one after the other.
fn text(argument: &str) -> Vec<u8> {
    assert!(!argument.contains("\"..."), "strace has cut a text off");
    let quoted = argument.split('"').skip(1).step_by(2);
    let digits = quoted.flat_map(|quoted| quoted.split("\\x").skip(1));
    digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect()
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("{text:.100} is no number"))
}
