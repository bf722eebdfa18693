//! The files of a scenario: finding and reading them, resolving `include:`, and showing a problem where it was written.
//! The only module here that reads the disk; it reads no environment and knows no key but `include`.
//!
//! Any map may hold `include: file.yaml` or a list of files. The files are merged in order, the keys written beside
//! `include` go on top (see [`merge`]). A name is looked for beside the including file, then in the search
//! directories, then in the built-in library.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use muster_core::node::{Node, Place, Problem, Problems, Value, nearest};

use crate::assets::Assets;
use crate::formats::{self, Fault};
use crate::merge::merge;
use crate::yaml::{self, BYTES_MAX, DEPTH_MAX, NODES_MAX, Size};

/// Most files that include each other in a chain.
pub const CHAIN_MAX: usize = 16;
/// All that includes bring together may be this many times what one file may hold.
const INCLUDED_MAX: usize = 4;
/// Most characters of a source line shown with a problem.
const SHOWN_MAX: usize = 120;
/// Most names of a directory compared with a name that was not found.
const NAMES_MAX: usize = 1000;
/// How the path of a file of the built-in library starts.
const LIBRARY: &str = "library:";

/// Files built into the program, by names such as `robots/quadrotor.yaml`.
pub trait Library {
    /// The text of a file.
    fn text(&self, name: &str) -> Option<&'static str>;

    /// The bytes of a file that need not be text.
    fn bytes(&self, name: &str) -> Option<&'static [u8]> {
        self.text(name).map(str::as_bytes)
    }

    /// All names, for the hint after a misspelt one.
    fn names(&self) -> Vec<&'static str>;
}

/// A table of name and text.
impl Library for &'static [(&'static str, &'static str)] {
    fn text(&self, name: &str) -> Option<&'static str> {
        self.iter().find(|(other, _)| *other == name).map(|&(_, text)| text)
    }

    fn names(&self) -> Vec<&'static str> {
        self.iter().map(|&(name, _)| name).collect()
    }
}

/// Whether a shown problem has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Text only.
    Plain,
    /// ANSI colours, for a terminal.
    Coloured,
}

/// All files read so far; [`Place::file`] counts in them.
pub struct Files {
    list: Vec<File>,
    search: Vec<PathBuf>,
    library: Box<dyn Library + Send + Sync>,
    /// What each file gives once its includes are resolved, so that a file used by many robots is read once.
    resolved: BTreeMap<String, (Node, Size)>,
    /// Meshes and textures, so that each is read once.
    pub(crate) assets: Assets,
    /// What was read, if somebody wants to keep it.
    kept: Option<Mutex<Kept>>,
    /// All files there are, in place of disk and library.
    held: Option<BTreeMap<String, Arc<[u8]>>>,
}

/// Contents by name, such as a recording holds them; names of library files start with `library:`.
pub type Contents = Vec<(String, Arc<[u8]>)>;

/// What was read.
#[derive(Default)]
struct Kept {
    /// Paths under which files were found, each with the key of its file.
    found: BTreeMap<String, String>,
    /// Contents by key.
    contents: BTreeMap<String, Arc<[u8]>>,
}

struct File {
    path: String,
    text: String,
}

/// What was read, as far as it could be, and what was wrong.
pub struct Loaded {
    /// The tree; none if there is no text at all.
    pub node: Option<Node>,
    /// The problems.
    pub problems: Problems,
}

impl Loaded {
    fn finish(self) -> Result<Node, Vec<Problem>> {
        match self.node {
            Some(node) if !self.problems.any_error() => Ok(node),
            _ => Err(self.problems.list().to_vec()),
        }
    }
}

/// The key left in a map whose includes failed: it lacks what nobody knows.
pub(crate) const UNFINISHED: &str = "include";

/// Where a file was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    Disk(PathBuf),
    Library(String),
}

impl Found {
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Disk(path) => path.display().to_string(),
            Self::Library(name) => format!("{LIBRARY}{name}"),
        }
    }

    /// The same for one file however its path is written, so that cycles are seen.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Disk(path) => fs::canonicalize(path).as_ref().unwrap_or(path).display().to_string(),
            Self::Library(_) => self.path(),
        }
    }
}

/// That a file was not found.
pub(crate) struct Missing {
    pub(crate) found: String,
    pub(crate) expected: String,
    pub(crate) hint: Option<String>,
}

/// One load: the chain of files being included and what was made so far.
#[derive(Default)]
struct Load {
    chain: Vec<Found>,
    problems: Problems,
    /// Files whose problems are noted: a file that many robots include is not reported for each.
    failed: BTreeSet<String>,
    size: Size,
}

impl Files {
    /// No files yet. `search` are the directories looked through after the including file's own.
    pub fn new(search: Vec<PathBuf>, library: impl Library + Send + Sync + 'static) -> Self {
        Self {
            list: Vec::new(),
            search,
            library: Box::new(library),
            resolved: BTreeMap::new(),
            assets: Assets::default(),
            kept: None,
            held: None,
        }
    }

    /// Keeps the contents of every file read from now on, see [`Files::contents`].
    pub fn keep_contents(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// Every file that was read, under each path by which it was found.
    pub fn contents(&self) -> Contents {
        let Some(kept) = &self.kept else { return Vec::new() };
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let file = |(path, key): (&String, &String)| Some((path.clone(), Arc::clone(kept.contents.get(key)?)));
        kept.found.iter().filter_map(file).collect()
    }

    /// Reads from these contents and from nothing else: neither disk nor library.
    pub fn hold(&mut self, contents: Contents) {
        self.held = Some(contents.into_iter().collect());
    }

    fn note_found(&self, found: &Found) {
        if let Some(kept) = &self.kept {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.found.entry(found.path()).or_insert_with(|| found.key());
        }
    }

    fn note_contents(&self, found: &Found, bytes: &[u8]) {
        self.note_found(found);
        if let Some(kept) = &self.kept {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.contents.entry(found.key()).or_insert_with(|| bytes.into());
        }
    }

    /// Whether there is such a file.
    fn exists(&self, found: &Found) -> bool {
        match (&self.held, found) {
            (Some(held), _) => held.contains_key(&found.path()),
            (None, Found::Disk(path)) => path.is_file(),
            (None, Found::Library(name)) => self.library.bytes(name).is_some(),
        }
    }

    /// The bytes of a file; none if there are more than so many.
    fn contents_of(&self, found: &Found, most: usize) -> std::io::Result<Option<Vec<u8>>> {
        let bytes = match (&self.held, found) {
            (Some(held), _) => {
                let bytes = held.get(&found.path()).ok_or(std::io::ErrorKind::NotFound)?;
                (bytes.len() <= most).then(|| bytes.to_vec())
            }
            (None, Found::Disk(path)) => read_bytes(path, most)?,
            (None, Found::Library(name)) => Some(self.library.bytes(name).unwrap_or_default().to_vec()),
        };
        if let Some(bytes) = &bytes {
            self.note_contents(found, bytes);
        }
        Ok(bytes)
    }

    /// Reads a file and all it includes. A relative `name` is taken from the working directory first. Each file is read
    /// once, however often it is loaded or included.
    pub fn load(&mut self, name: &str) -> Result<Node, Vec<Problem>> {
        self.load_partly(name).finish()
    }

    /// Like [`Files::load`], but an include that fails does not hide the rest of the file.
    pub fn load_partly(&mut self, name: &str) -> Loaded {
        let mut load = Load::default();
        let Some(found) = self.find(name, Place::default(), &mut load) else {
            return Loaded { node: None, problems: load.problems };
        };
        let key = found.key();
        if let Some((node, _)) = self.resolved.get(&key) {
            return Loaded { node: Some(node.clone()), problems: load.problems };
        }
        let node = self.read_parsed(found, Place::default(), &mut load);
        if let Some(node) = node.as_ref().filter(|_| load.problems.list().is_empty()) {
            self.resolved.insert(key, (node.clone(), Size::of(node)));
        }
        Loaded { node, problems: load.problems }
    }

    /// Reads a file named at a place in another file, as an `include` there would.
    pub fn load_from(&mut self, name: &str, place: Place) -> Result<Node, Vec<Problem>> {
        let mut load = Load::default();
        if let Some(file) = self.list.get(place.file as usize)
            && !file.path.starts_with(LIBRARY)
        {
            load.chain.push(Found::Disk(file.path.clone().into()));
        }
        let node = self.include(name, place, 0, &mut load);
        Loaded { node, problems: load.problems }.finish()
    }

    /// Reads a file of the built-in library and nothing else; `None` if it has none of this name.
    pub fn load_built_in(&mut self, name: &str) -> Option<Result<Node, Vec<Problem>>> {
        let found = Found::Library(name.to_owned());
        if !self.exists(&found) {
            return None;
        }
        let mut load = Load::default();
        let node = self.include_found(found, Place::default(), 0, &mut load);
        Some(Loaded { node, problems: load.problems }.finish())
    }

    /// Reads a text and all it includes, as if it were the contents of the file `path`.
    pub fn load_text(&mut self, path: &str, text: &str) -> Result<Node, Vec<Problem>> {
        self.load_text_partly(path, text).finish()
    }

    /// Like [`Files::load_text`], but an include that fails does not hide the rest of the text.
    pub fn load_text_partly(&mut self, path: &str, text: &str) -> Loaded {
        let mut load = Load::default();
        let node = self.parse(path.to_owned(), text.to_owned(), Place::default(), &mut load);
        let found = Found::Disk(path.into());
        self.note_contents(&found, text.as_bytes());
        load.chain.push(found);
        let node = node.map(|node| self.resolve(node, 0, &mut load));
        Loaded { node, problems: load.problems }
    }

    /// The paths of all files read, in the order of [`Place::file`]; those of the library start with `library:`.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|file| file.path.as_str())
    }

    /// `path:line:column`, or `(no file)`.
    pub fn place(&self, place: Place) -> String {
        match self.file(place) {
            Some(file) => format!("{}:{}:{}", file.path, place.line, place.column),
            None => "(no file)".to_owned(),
        }
    }

    /// The problem as people want to see it: place and message, then the line with a caret under the spot.
    pub fn render(&self, problem: &Problem, paint: Paint) -> String {
        let (word, colour) = if problem.warning { ("warning", "\x1b[1;33m") } else { ("error", "\x1b[1;31m") };
        let painted = |text: &str| match paint {
            Paint::Plain => text.to_owned(),
            Paint::Coloured => format!("{colour}{text}\x1b[0m"),
        };
        let message = format!("{}: {problem}", painted(word));
        let Some(file) = self.file(problem.place) else { return message };
        let line = source_line(&file.text, problem.place.line).unwrap_or_default();
        let (line, caret) = excerpt(line, problem.place.column);
        format!("{}: {message}\n    {line}\n    {}{}", self.place(problem.place), caret, painted("^"))
    }

    fn file(&self, place: Place) -> Option<&File> {
        if place.line == 0 { None } else { self.list.get(usize::from(place.file)) }
    }

    /// What an included file holds, its own includes resolved; none when a problem was noted.
    fn include(&mut self, name: &str, place: Place, depth: usize, load: &mut Load) -> Option<Node> {
        let found = self.find(name, place, load)?;
        self.include_found(found, place, depth, load)
    }

    fn include_found(&mut self, found: Found, place: Place, depth: usize, load: &mut Load) -> Option<Node> {
        let key = found.key();
        if load.failed.contains(&key) || !chain_may_grow(&found, place, load) {
            return None;
        }
        if !self.resolved.contains_key(&key) {
            let Some(node) = self.read_resolved(found, place, load) else {
                load.failed.insert(key);
                return None;
            };
            let size = Size::of(&node);
            self.resolved.insert(key.clone(), (node, size));
        }
        let (node, size) = self.resolved.get(&key)?;
        fits(*size, depth, place, load).then(|| node.clone())
    }

    fn read_resolved(&mut self, found: Found, place: Place, load: &mut Load) -> Option<Node> {
        let problems = load.problems.list().len();
        let node = self.read_parsed(found, place, load)?;
        (load.problems.list().len() == problems).then_some(node)
    }

    /// What a file holds, its includes resolved as far as they can be.
    fn read_parsed(&mut self, found: Found, place: Place, load: &mut Load) -> Option<Node> {
        let text = self.read(&found, place, load)?;
        let node = self.parse(found.path(), text, place, load)?;
        load.chain.push(found);
        let node = self.resolve(node, 0, load);
        load.chain.pop();
        Some(node)
    }

    fn parse(&mut self, path: String, text: String, place: Place, load: &mut Load) -> Option<Node> {
        let Ok(index) = u16::try_from(self.list.len()) else {
            load.problems.error(place, "", "one more file", format!("at most {} files", u16::MAX));
            return None;
        };
        let node = yaml::parse(&text, index);
        self.list.push(File { path, text });
        note(node, &mut load.problems)
    }

    /// The tree with its includes resolved; `depth` counts the levels above it in its file.
    fn resolve(&mut self, mut node: Node, depth: usize, load: &mut Load) -> Node {
        match &mut node.value {
            Value::List(list) => {
                for inner in list {
                    *inner = self.resolve(std::mem::take(inner), depth + 1, load);
                }
            }
            Value::Map(map) => {
                for entry in map.iter_mut().filter(|entry| entry.key != "include") {
                    entry.value = self.resolve(std::mem::take(&mut entry.value), depth + 1, load);
                }
            }
            _ => return node,
        }
        match node.take("include") {
            Some(include) => {
                let before = load.problems.list().len();
                let mut whole = merge(self.included(&include, depth, load), node);
                if load.problems.list().len() > before {
                    whole.set(UNFINISHED, include);
                }
                whole
            }
            None => node,
        }
    }

    /// What an `include:` brings.
    fn included(&mut self, include: &Node, depth: usize, load: &mut Load) -> Node {
        let names = match &include.value {
            Value::List(list) => list.as_slice(),
            _ => std::slice::from_ref(include),
        };
        let mut base = Node::default();
        for name in names {
            let Some(text) = name.text() else {
                load.problems.error(name.place, "include", name.found(), "the name of a file, or a list of names");
                continue;
            };
            let Some(node) = self.include(text, name.place, depth, load) else { continue };
            if node.entries().is_none() {
                let found = format!("{text:?}, which holds {}", node.found());
                load.problems.error(name.place, "include", found, "a file that holds a map");
                continue;
            }
            base = merge(base, node);
        }
        base
    }

    fn read(&self, found: &Found, place: Place, load: &mut Load) -> Option<String> {
        let text = utf8(self.contents_of(found, BYTES_MAX));
        text.map_err(|(what, expected)| load.problems.error(place, "", format!("{} {what}", found.path()), expected))
            .ok()
    }

    /// Looks for a file; a problem tells every place looked at and the nearest name.
    fn find(&self, name: &str, place: Place, load: &mut Load) -> Option<Found> {
        let missing = match self.search(name, load.chain.last()) {
            Ok(found) => return Some(found),
            Err(missing) => missing,
        };
        load.problems.error_with_hint(place, "", missing.found, missing.expected, missing.hint);
        None
    }

    /// Looks for a file named in another one, or from outside.
    pub(crate) fn search(&self, name: &str, from: Option<&Found>) -> Result<Found, Missing> {
        let candidates = self.candidates(name, from);
        if let Some(found) = candidates.iter().find(|candidate| self.exists(candidate)) {
            self.note_found(found);
            return Ok(found.clone());
        }
        let places: Vec<String> = candidates.iter().map(Found::path).collect();
        let names = self.names_like(name, &candidates);
        let hint = nearest(name, names.iter().map(String::as_str)).map(|near| format!("did you mean {near:?}?"));
        let folder = candidates.iter().any(|candidate| matches!(candidate, Found::Disk(path) if path.is_dir()));
        if folder {
            return Err(Missing { found: format!("{name:?}, a folder"), expected: "a file".to_owned(), hint: None });
        }
        let expected = format!("a file; looked for {}", places.join(", "));
        Err(Missing { found: format!("no file {name:?}"), expected, hint })
    }

    /// The file in which a place is; none for what stands in no file.
    pub(crate) fn file_at(&self, place: Place) -> Option<Found> {
        let path = &self.file(place)?.path;
        Some(match path.strip_prefix(LIBRARY) {
            Some(name) => Found::Library(name.to_owned()),
            None => Found::Disk(path.into()),
        })
    }

    /// The bytes of a file that was found.
    pub(crate) fn bytes(&self, found: &Found) -> Result<Arc<[u8]>, Fault> {
        let (bytes, limit) = (self.contents_of(found, formats::BYTES_MAX), formats::BYTES_MAX / 1024 / 1024);
        let bytes = bytes.map_err(|error| Fault::new(format!("({error})"), "a file that can be read"))?;
        bytes.map(Arc::from).ok_or_else(|| Fault::new("more bytes", format!("at most {limit} MB")))
    }

    /// Where a name may stand, in the order of the search, each place once.
    fn candidates(&self, name: &str, from: Option<&Found>) -> Vec<Found> {
        if Path::new(name).is_absolute() {
            return vec![Found::Disk(name.into())];
        }
        let mut list = vec![match from {
            Some(Found::Disk(path)) => Found::Disk(path.with_file_name(name)),
            Some(Found::Library(path)) => Found::Library(library_name(&Path::new(path).with_file_name(name))),
            None => Found::Disk(name.into()),
        }];
        list.extend(self.search.iter().map(|directory| Found::Disk(directory.join(name))));
        list.push(Found::Library(library_name(Path::new(name))));
        let mut once: Vec<Found> = Vec::new();
        for found in list {
            if !once.contains(&found) {
                once.push(found);
            }
        }
        once
    }

    /// Names that could have been written instead: those beside each candidate, and those of the library.
    fn names_like(&self, name: &str, candidates: &[Found]) -> Vec<String> {
        let mut names: Vec<String> = self.library.names().into_iter().map(str::to_owned).collect();
        for candidate in candidates {
            let Found::Disk(path) = candidate else { continue };
            if self.held.is_some() {
                continue;
            }
            let directory = path.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let Ok(entries) = fs::read_dir(directory) else { continue };
            names.extend(
                entries
                    .flatten()
                    .take(NAMES_MAX)
                    .map(|entry| Path::new(name).with_file_name(entry.file_name()).display().to_string()),
            );
        }
        // The order of a directory differs between machines, the hint must not.
        names.sort();
        names
    }
}

fn note(node: Result<Node, Vec<Problem>>, problems: &mut Problems) -> Option<Node> {
    node.map_err(|list| {
        for problem in list {
            problems.error_with_hint(problem.place, &problem.path, problem.found, problem.expected, problem.hint);
        }
    })
    .ok()
}

/// Notes a problem when the file is already in the chain, or the chain too long.
fn chain_may_grow(found: &Found, place: Place, load: &mut Load) -> bool {
    let key = found.key();
    if let Some(at) = load.chain.iter().position(|above| above.key() == key) {
        let chain: Vec<String> = load.chain[at..].iter().chain([found]).map(Found::path).collect();
        load.problems.error(place, "include", chain.join(" → "), "files that do not include themselves");
        return false;
    }
    if load.chain.len() == CHAIN_MAX {
        let found = format!("file number {} in a chain of includes", CHAIN_MAX + 1);
        load.problems.error(place, "include", found, format!("at most {CHAIN_MAX}"));
        return false;
    }
    true
}

/// Counts an included tree; notes a problem when the whole becomes too large.
fn fits(size: Size, depth: usize, place: Place, load: &mut Load) -> bool {
    load.size.nodes += size.nodes;
    load.size.bytes += size.bytes;
    let fits = load.size.nodes <= INCLUDED_MAX * NODES_MAX
        && load.size.bytes <= INCLUDED_MAX * BYTES_MAX
        && depth + size.depth <= DEPTH_MAX;
    if !fits {
        let (nodes, megabytes) = (INCLUDED_MAX * NODES_MAX, INCLUDED_MAX * BYTES_MAX / 1024 / 1024);
        let expected = format!("at most {nodes} values, {megabytes} MB of text and {DEPTH_MAX} levels");
        load.problems.error(place, "include", "more by includes", expected);
    }
    fits
}

/// The text in the bytes of a file, or what was found and expected.
fn utf8(bytes: std::io::Result<Option<Vec<u8>>>) -> Result<String, (String, String)> {
    let bytes = match bytes {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err(("with more bytes".to_owned(), format!("at most {} MB", BYTES_MAX / 1024 / 1024))),
        Err(error) => return Err((format!("({error})"), "a file that can be read".to_owned())),
    };
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        (format!("with a byte that is not UTF-8 on line {line}"), "UTF-8 text".to_owned())
    })
}

/// The bytes of a file; none if there are more than so many.
fn read_bytes(path: &Path, most: usize) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= most).then_some(bytes))
}

/// A path as the library names it: parts joined by `/`, without `.` and `..`.
fn library_name(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => (),
        }
    }
    parts.join("/")
}

/// A line of a text, counted as YAML does: a break is LF, CR or both.
fn source_line(text: &str, line: u32) -> Option<&str> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    for _ in 1..line {
        let at = rest.find(['\n', '\r'])?;
        rest = rest[at..].strip_prefix("\r\n").unwrap_or(&rest[at + 1..]);
    }
    rest.split(['\n', '\r']).next()
}

/// The part of a line to show, and the blanks that bring a caret under the column. Control characters are not passed
/// on to the terminal, tabs become one blank.
fn excerpt(line: &str, column: u32) -> (String, String) {
    let before = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1).min(line.chars().count());
    let skipped = before.saturating_sub(SHOWN_MAX * 2 / 3);
    let visible = |character: char| match character {
        '\t' => ' ',
        character if character.is_control() => '\u{fffd}',
        character => character,
    };
    let shown: String = line.chars().skip(skipped).take(SHOWN_MAX).map(visible).collect();
    (shown.trim_end().to_owned(), " ".repeat(before - skipped))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT_IN: &[(&str, &str)] = &[
        ("robots/quadrotor.yaml", "include: parts/imu.yaml\nmass_kg: 1.2\nsensors: {scan: {beams: 16}}\n"),
        ("robots/parts/imu.yaml", "sensors: {imu: {rate_hz: 500}}\n"),
        ("worlds/room.yaml", "size_m: [8, 6]\nwind: {mean_mps: 1}\n"),
        ("list.yaml", "[1, 2]\n"),
    ];

    fn files() -> Files {
        Files::new(Vec::new(), BUILT_IN)
    }

    fn check(text: &str, expected: &str) {
        let loaded = files().load_text("main.yaml", text).unwrap();
        assert_eq!(loaded.to_string(), yaml::parse(expected, 0).unwrap().to_string());
    }

    fn faults(files: &mut Files, name: &str) -> Vec<String> {
        let problems = files.load(name).unwrap_err();
        problems.iter().map(|problem| files.render(problem, Paint::Plain)).collect()
    }

    /// A directory for one test with these files in it.
    fn directory(test: &str, contents: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("muster-files-{}-{test}", std::process::id()));
        for (name, text) in contents {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn includes_merge_under_the_keys_beside_them() {
        check(
            "world: {include: worlds/room.yaml, wind: {gusts: 2}, size_m: ~}",
            "world: {wind: {mean_mps: 1, gusts: 2}}",
        );
        check(
            "robots: [{include: robots/quadrotor.yaml, mass_kg: 2, sensors: {imu: ~}}]",
            "robots: [{sensors: {scan: {beams: 16}}, mass_kg: 2}]",
        );
        check(
            "include: [robots/parts/imu.yaml, worlds/room.yaml]",
            "{sensors: {imu: {rate_hz: 500}}, size_m: [8, 6], wind: {mean_mps: 1}}",
        );
    }

    #[test]
    fn files_are_found_beside_then_in_the_search_path_then_in_the_library() {
        let here = directory(
            "order",
            &[
                ("a.yaml", "include: [sub/b.yaml, worlds/room.yaml, c.yaml]"),
                ("sub/b.yaml", "b: {include: d.yaml}"),
                ("sub/d.yaml", "d: 1"),
                ("c.yaml", "c: here"),
            ],
        );
        let there = directory("order-search", &[("worlds/room.yaml", "room: there"), ("c.yaml", "c: there")]);
        let mut files = Files::new(vec![there.clone()], BUILT_IN);
        let node = files.load(here.join("a.yaml").to_str().unwrap()).unwrap();
        assert_eq!(node.to_string(), "{b: {d: 1}, room: \"there\", c: \"here\"}");
        assert_eq!(files.paths().count(), 5);
        fs::remove_dir_all(here).unwrap();
        fs::remove_dir_all(there).unwrap();
    }

    #[test]
    fn a_missing_file_tells_where_it_was_looked_for_and_the_nearest_name() {
        let mut files = Files::new(vec!["/nowhere".into()], BUILT_IN);
        let text = "a: 1\nb: {include: robots/quadrotr.yaml}\n";
        let problems = files.load_text("dir/main.yaml", text).unwrap_err();
        let expected = "dir/main.yaml:2:14: error: found no file \"robots/quadrotr.yaml\", expected a file; looked for \
             dir/robots/quadrotr.yaml, /nowhere/robots/quadrotr.yaml, library:robots/quadrotr.yaml \
             (did you mean \"robots/quadrotor.yaml\"?)\n    \
             b: {include: robots/quadrotr.yaml}\n                 ^";
        assert_eq!(files.render(&problems[0], Paint::Plain), expected);
        let here = directory("near", &[("scenario.yaml", "a: 1")]);
        let list = faults(&mut files, here.join("scenaro.yaml").to_str().unwrap());
        assert!(list[0].starts_with("error: found no file") && list[0].contains("scenario.yaml\"?"), "{list:?}");
        fs::remove_dir_all(here).unwrap();
    }

    #[test]
    fn a_cycle_names_its_chain() {
        let here = directory("cycle", &[("a.yaml", "x: {include: b.yaml}"), ("b.yaml", "include: ../{}/a.yaml")]);
        let name = here.file_name().unwrap().to_str().unwrap();
        fs::write(here.join("b.yaml"), format!("include: ../{name}/a.yaml")).unwrap();
        let list = faults(&mut files(), here.join("a.yaml").to_str().unwrap());
        assert_eq!(list.len(), 1);
        assert!(list[0].contains("a.yaml → ") && list[0].contains("files that do not include themselves"), "{list:?}");
        fs::remove_dir_all(here).unwrap();
    }

    #[test]
    fn chains_and_totals_are_bounded() {
        let mut contents: Vec<(String, String)> =
            (0..20).map(|at| (format!("{at}.yaml"), format!("include: {}.yaml", at + 1))).collect();
        contents.push(("laugh0.yaml".to_owned(), format!("l: [{}]", ["x"; 1000].join(","))));
        contents.extend((1..9).map(|at| {
            let inner = format!("{{include: laugh{}.yaml}}", at - 1);
            (format!("laugh{at}.yaml"), format!("l: [{}]", [inner.as_str(); 10].join(",")))
        }));
        let contents: Vec<(&str, &str)> = contents.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let here = directory("bounds", &contents);
        let list = faults(&mut files(), here.join("0.yaml").to_str().unwrap());
        assert!(list[0].contains("found file number 17 in a chain of includes, expected at most 16"), "{list:?}");
        let list = faults(&mut files(), here.join("laugh8.yaml").to_str().unwrap());
        assert!(list[0].contains("found more by includes, expected at most 4000000 values"), "{}", list[0]);
        fs::remove_dir_all(here).unwrap();
    }

    #[test]
    fn every_problem_is_found_and_a_bad_file_is_reported_once() {
        let here = directory(
            "bad",
            &[
                ("bad.yaml", "a: [1"),
                (
                    "main.yaml",
                    "x: {include: bad.yaml}\n\
            y: {include: bad.yaml}\nz: {include: 3}\nw: {include: list.yaml}\nv: {include: latin.yaml}\n",
                ),
            ],
        );
        fs::write(here.join("latin.yaml"), b"a: 1\nb: \xe9").unwrap();
        let list = faults(&mut files(), here.join("main.yaml").to_str().unwrap());
        assert_eq!(list.len(), 4, "{list:?}");
        assert!(list[0].contains("bad.yaml:1:6: error: found the end of the text"), "{}", list[0]);
        assert!(list[1].contains("main.yaml:3:14: error: include: found 3, expected the name of a file"));
        assert!(list[2].contains("which holds a list of 2, expected a file that holds a map"));
        assert!(list[3].contains("with a byte that is not UTF-8 on line 2, expected UTF-8 text"));
        fs::remove_dir_all(here).unwrap();
    }

    #[test]
    fn what_was_read_can_be_read_again_without_disk_and_library() {
        let here = directory(
            "kept",
            &[
                ("a.yaml", "x: {include: sub.yaml}\ny: {include: ./sub.yaml}\nz: {include: robots/quadrotor.yaml}\n"),
                ("sub.yaml", "v: 1\n"),
            ],
        );
        let main = here.join("a.yaml").to_str().unwrap().to_owned();
        let mut first = files();
        first.keep_contents();
        let node = first.load(&main).unwrap();
        let contents = first.contents();
        let names: Vec<&str> = contents.iter().map(|(name, _)| name.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["sub.yaml", "a.yaml", "sub.yaml", "imu.yaml", "quadrotor.yaml"], "{contents:?}");
        fs::remove_dir_all(here).unwrap();
        let nothing: &'static [(&'static str, &'static str)] = &[];
        let mut again = Files::new(Vec::new(), nothing);
        again.hold(contents);
        assert_eq!(again.load(&main).unwrap().to_string(), node.to_string());
        assert!(again.load("Cargo.toml").is_err(), "the disk is there, but not for it");
    }

    #[test]
    fn colour_only_when_asked_and_long_lines_are_cut_around_the_spot() {
        let mut files = files();
        let text = format!("a: 1\r\nb: [{}, \"x\ty\", &a *a, 2\u{1}]", ["12345"; 100].join(", "));
        let problems = files.load_text("m.yaml", &text).unwrap_err();
        let plain = files.render(&problems[0], Paint::Plain);
        assert!(!plain.contains('\x1b') && !plain.contains('\u{1}'));
        assert!(plain.lines().skip(1).all(|line| line.chars().count() <= SHOWN_MAX + 4), "{plain}");
        assert!(files.render(&problems[0], Paint::Coloured).contains("\x1b[1;31merror\x1b[0m"));
        assert_eq!(files.place(Place { file: 0, line: 2, column: 5 }), "m.yaml:2:5");
        assert_eq!(files.place(Place::default()), "(no file)");
    }
}
