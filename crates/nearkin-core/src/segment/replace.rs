//! Replacing a file whole: after a crash at any moment there is the old file or the new one, never a part of either.
//!
//! ```text
//! 1  the path is followed to the file itself     a symbolic link stays, and what it points to is replaced
//! 2  leftovers of dead writers are removed       `.name.*.part` that no process holds a lock on
//! 3  `.name.RANDOM.part` is created beside it     exclusively, so that no existing file is opened; then locked
//! 4  the new bytes are written, the file synced  with the permissions of the old file, if there is one
//! 5  it is renamed over the old file             the step that every reader sees at once
//! 6  the folder is synced                        from here on a loss of power does not bring the old file back
//! ```
//!
//! Until step 5 any failure removes the new file and leaves the old one as it was. A failure of step 6 is an error that
//! says that the new file is in place. Writers of one name do not wait for each other: each has its own file,
//! and the last rename wins.
//!
//! **Dead or alive.** A writer holds an exclusive lock (`flock`) on its file from its creation to its end, and the
//! system releases it when the process dies. A file under such a name that can be locked has no writer, so the next
//! save removes it. A writer whose new file was taken for such a leftover, between its creation and the lock, finds it
//! gone once it has the lock, and begins again. Where the file system has no locks, leftovers stay.
//!
//! Cost: two syncs, and one reading of the folder. The owner is kept where the process may change it. Sources: POSIX
//! `rename` and `fsync`; Pillai et al., "All File Systems Are Not Created Equal" (OSDI 2014), section 2, for step 6.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::io as failed;
use crate::cancel::CancelToken;
use crate::{Error, Result};

/// Links that are followed before they count as a circle, as many as Linux follows.
const MOST_LINKS: usize = 40;
/// Names that are tried before a folder is given up.
const MOST_NAMES: usize = 100;
/// Longest name that stands in the name of the new file as it is; systems allow 255 bytes.
const LONGEST: usize = 200;
const END: &str = ".part";

/// A new file beside the one it will replace: written to, then [committed](Self::commit), or removed when dropped.
#[derive(Debug)]
pub struct Replacement {
    target: PathBuf,
    aside: PathBuf,
    /// Holds the lock for as long as it is open.
    file: File,
    renamed: bool,
}

/// Replaces the file at `path`, or creates it, with `bytes`.
///
/// # Errors
/// As [`Replacement::begin`] and [`Replacement::commit`]; the disk is full.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut new = Replacement::begin(path)?;
    new.file.write_all(bytes).map_err(failed("write", &new.aside))?;
    new.commit()
}

impl Replacement {
    /// Creates the new file, after removing what dead writers of the same file left behind.
    ///
    /// # Errors
    /// The path is that of something other than a file; the file system refuses.
    pub fn begin(path: &Path) -> Result<Self> {
        let random = RandomState::new();
        Self::begin_as(path, (0..MOST_NAMES as u64).map(|attempt| random.hash_one((std::process::id(), attempt))))
    }

    /// As [`Self::begin`], with the numbers that names are made of.
    fn begin_as(path: &Path, numbers: impl Iterator<Item = u64>) -> Result<Self> {
        let target = follow(path)?;
        let old = match fs::symlink_metadata(&target) {
            Ok(old) if old.is_file() => Some(old),
            Ok(_) => {
                let found = format!("{}, which is no regular file", target.display());
                return Err(Error::parameter("path", found, "the path of a file to write"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("look at", &target)(error)),
        };
        let stem = stem(&target)?;
        collect(folder_of(&target), &stem);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // Until it has the permissions of the old file, nobody else reads the new one.
        #[cfg(unix)]
        if old.is_some() {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        for number in numbers {
            let mut name = stem.clone();
            name.push(format!("{number:016x}{END}"));
            let aside = target.with_file_name(name);
            let file = match options.open(&aside) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(failed("create", &aside)(error)),
            };
            if !claim(&file, &aside) {
                continue;
            }
            let new = Self { target, aside, file, renamed: false };
            if let Some(old) = old {
                // Changing the owner clears some permissions, so that these come second.
                #[cfg(unix)]
                keep_owner(&new.file, &old);
                new.file.set_permissions(old.permissions()).map_err(failed("set the permissions of", &new.aside))?;
            }
            return Ok(new);
        }
        Err(failed("find a free name beside", &target)(io::ErrorKind::AlreadyExists.into()))
    }

    /// Where the new bytes are until they are committed.
    pub fn aside(&self) -> &Path {
        &self.aside
    }

    /// Syncs the new file, moves it to its place, and syncs the folder.
    ///
    /// # Errors
    /// The file system refuses; the old file is then as it was, but for the last step, whose error says so. The call is
    /// stopped before the old file is replaced.
    pub fn commit(mut self) -> Result<()> {
        self.file.sync_all().map_err(failed("sync", &self.aside))?;
        CancelToken::current().check()?;
        fs::rename(&self.aside, &self.target).map_err(failed("rename to", &self.target))?;
        self.renamed = true;
        confirm(&self.target, sync_folder(folder_of(&self.target)))
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Replacement {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.renamed {
            // What can't be removed now is a leftover, which the next save removes.
            let _ = fs::remove_file(&self.aside);
        }
    }
}

/// The path itself, or what it points to in the end if it is a symbolic link; that need not exist.
fn follow(path: &Path) -> Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        if !fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink()) {
            return Ok(place);
        }
        let to = fs::read_link(&place).map_err(failed("follow", &place))?;
        // `join` gives `to` alone if that is absolute.
        place = folder_of(&place).join(to);
    }
    let found = format!("{}, a circle of symbolic links or more than {MOST_LINKS} of them", path.display());
    Err(Error::parameter("path", found, "the path of a file to write"))
}

/// Gives the new file the owner of the old one, if the process may.
#[cfg(unix)]
fn keep_owner(file: &File, old: &fs::Metadata) {
    use std::os::unix::fs::MetadataExt;
    let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// How names of new files for `target` begin; of a very long name its hash, so that they stay within what systems allow.
fn stem(target: &Path) -> Result<OsString> {
    let Some(name) = target.file_name() else {
        return Err(Error::parameter("path", target.display(), "the path of a file to write"));
    };
    let mut stem = OsString::from(".");
    if name.len() <= LONGEST {
        stem.push(name);
    } else {
        stem.push(format!("{:016x}", xxh3_64(name.as_encoded_bytes())));
    }
    stem.push(".");
    Ok(stem)
}

/// Whether `name` is that of a new file with this stem.
fn is_aside(name: &OsStr, stem: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(stem.as_encoded_bytes());
    let number = rest.and_then(|rest| rest.strip_suffix(END.as_bytes()));
    number.is_some_and(|number| number.len() == 16 && number.iter().all(u8::is_ascii_hexdigit))
}

/// Locks a new file; false if it was taken for a leftover before it was locked.
fn claim(file: &File, aside: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => fs::symlink_metadata(aside).is_ok(),
        // Who collects holds the lock just now, and removes the file.
        Err(TryLockError::WouldBlock) => false,
        // Without locks nobody can take it for a leftover either.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Removes new files with this stem that have no writer any more. What can't be read or removed stays: it does no harm.
fn collect(folder: &Path, stem: &OsStr) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        // A link or pipe under such a name is not ours.
        let ours = is_aside(&entry.file_name(), stem) && entry.file_type().is_ok_and(|kind| kind.is_file());
        if ours
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Other systems have no sync of folders.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The end of a save whose file has been renamed.
fn confirm(target: &Path, synced: io::Result<()>) -> Result<()> {
    synced.map_err(|source| Error::Io {
        action: format!(
            "sync the folder of {}, which is in place with its new contents, but may not survive a loss of power",
            target.display()
        ),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    /// A folder of its own for each test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static NUMBER: AtomicUsize = AtomicUsize::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let folder = std::env::temp_dir().join(format!("nearkin-replace-{}-{number}", std::process::id()));
            fs::create_dir_all(&folder).expect("writable");
            Self(folder)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("there");
            let mut names: Vec<String> =
                entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_created_and_replaced() {
        let folder = Folder::new();
        let path = folder.path("table");
        replace(&path, b"one").expect("writable");
        replace(&path, b"").expect("writable");
        replace(&path, b"three").expect("writable");
        assert_eq!(b"three".to_vec(), fs::read(&path).expect("there"));
        assert_eq!(vec!["table"], folder.names());
    }

    #[test]
    fn readers_see_whole_files_while_sixteen_threads_save_one_name() {
        let folder = Folder::new();
        let path = folder.path("table");
        // Each file is one byte again and again, and its length follows from that byte.
        let whole = |byte: u8| vec![byte; 40_000 + 1000 * usize::from(byte)];
        replace(&path, &whole(0)).expect("writable");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let bytes = fs::read(&path).expect("there is always a file");
                    assert_eq!(whole(bytes[0]), bytes);
                }
            });
            let path = &path;
            let writers: Vec<_> = (0..16)
                .map(|writer: u8| {
                    scope.spawn(move || {
                        for round in 0..6 {
                            replace(path, &whole(16 * round + writer)).expect("writable");
                        }
                    })
                })
                .collect();
            for writer in writers {
                writer.join().expect("no writer fails");
            }
            done.store(true, Ordering::Relaxed);
            reader.join().expect("every file was whole");
        });
        assert_eq!(vec!["table"], folder.names());
    }

    #[test]
    fn what_stands_at_the_name_of_the_new_file_is_not_opened() {
        let folder = Folder::new();
        let (path, other) = (folder.path("table"), folder.path("other"));
        fs::write(&other, "precious").expect("writable");
        let planted = folder.path(&format!(".table.{:016x}.part", 7));
        #[cfg(unix)]
        std::os::unix::fs::symlink(&other, &planted).expect("writable");
        #[cfg(not(unix))]
        fs::create_dir(&planted).expect("writable");
        let mut new = Replacement::begin_as(&path, [7, 8].into_iter()).expect("the second name is free");
        assert_eq!(folder.path(&format!(".table.{:016x}.part", 8)), new.aside());
        new.write_all(b"new").expect("writable");
        new.commit().expect("writable");
        assert_eq!(("precious".into(), "new".into()), (read(&other), read(&path)));
        assert!(fs::symlink_metadata(&planted).is_ok(), "what is none of ours stays");
        assert!(Replacement::begin_as(&path, [7].into_iter()).is_err());
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).expect("there")
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new();
        let path = folder.path("table");
        for mode in [0o600, 0o640, 0o664, 0o444, 0o755] {
            fs::write(&path, "old").expect("writable");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
            replace(&path, b"new").expect("writable");
            assert_eq!("new", read(&path));
            assert_eq!(mode, fs::metadata(&path).expect("there").permissions().mode() & 0o7777);
            fs::remove_file(&path).expect("there");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_its_file_is_replaced() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new();
        fs::create_dir(folder.path("data")).expect("writable");
        fs::write(folder.path("data/table"), "old").expect("writable");
        symlink("data/table", folder.path("inner")).expect("writable");
        symlink(folder.path("inner"), folder.path("outer")).expect("writable");
        replace(&folder.path("outer"), b"new").expect("writable");
        assert_eq!("new", read(&folder.path("data/table")));
        // A link to nothing: the file is made where it points.
        symlink("data/fresh", folder.path("dangling")).expect("writable");
        replace(&folder.path("dangling"), b"first").expect("writable");
        assert_eq!("first", read(&folder.path("data/fresh")));
        for link in ["inner", "outer", "dangling"] {
            assert!(fs::symlink_metadata(folder.path(link)).expect("there").is_symlink(), "{link}");
        }
        assert_eq!(vec!["dangling", "data", "inner", "outer"], folder.names());
        symlink("circle", folder.path("circle")).expect("writable");
        let error = replace(&folder.path("circle"), b"").expect_err("no end").to_string();
        assert!(error.contains("circle of symbolic links"), "{error}");
    }

    #[test]
    fn leftovers_of_the_dead_are_removed_and_the_living_stay() {
        let folder = Folder::new();
        let path = folder.path("table");
        let living = Replacement::begin(&path).expect("writable");
        let dead = folder.path(".table.0123456789abcdef.part");
        fs::write(&dead, "half").expect("writable");
        // Names that are not those of new files of this one.
        let others = [".table.xyz.part", ".table.0123456789abcdef.part2", ".other.0123456789abcdef.part"];
        for name in others {
            fs::write(folder.path(name), "kept").expect("writable");
        }
        replace(&path, b"second").expect("writable");
        assert!(!dead.exists());
        assert!(living.aside().exists());
        for name in others {
            assert_eq!("kept", read(&folder.path(name)));
        }
        living.commit().expect("writable");
        assert_eq!("", read(&path));
        assert_eq!(4, folder.names().len());
    }

    #[test]
    fn a_new_file_that_was_taken_for_a_leftover_is_made_again() {
        let folder = Folder::new();
        let aside = folder.path(".table.0000000000000001.part");
        let file = File::create(&aside).expect("writable");
        assert!(claim(&file, &aside));
        drop(file);
        // Locked by a collector, and removed by one.
        let (file, collector) = (File::open(&aside).expect("there"), File::open(&aside).expect("there"));
        collector.lock().expect("a file system with locks");
        assert!(!claim(&file, &aside));
        drop(collector);
        fs::remove_file(&aside).expect("there");
        assert!(!claim(&file, &aside));
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = Folder::new();
        let path = folder.path("table");
        fs::write(&path, "old").expect("writable");
        let mut new = Replacement::begin(&path).expect("writable");
        new.write_all(b"half").expect("writable");
        drop(new);
        assert_eq!("old", read(&path));
        assert_eq!(vec!["table"], folder.names());

        // The rename fails: a folder has taken the place.
        let new = Replacement::begin(&path).expect("writable");
        fs::remove_file(&path).expect("there");
        fs::create_dir(&path).expect("writable");
        let error = new.commit().expect_err("no file goes over a folder").to_string();
        assert!(error.starts_with("rename to "), "{error}");
        assert_eq!(vec!["table"], folder.names());

        let error = replace(&path, b"").expect_err("a folder").to_string();
        assert!(error.contains("which is no regular file"), "{error}");
        assert!(replace(&folder.path("missing/table"), b"").is_err());
        assert!(replace(Path::new("/"), b"").is_err());
        assert_eq!(vec!["table"], folder.names());
    }

    #[test]
    fn a_file_that_is_in_place_is_not_reported_as_unwritten() {
        let error = confirm(Path::new("table"), Err(io::ErrorKind::Other.into())).expect_err("not synced").to_string();
        assert!(error.contains("table, which is in place with its new contents"), "{error}");
        assert!(confirm(Path::new("table"), Ok(())).is_ok());
    }

    #[test]
    fn names_as_long_as_systems_allow_are_saved() {
        let folder = Folder::new();
        let path = folder.path(&"n".repeat(255));
        fs::write(folder.path(&format!("{}0123456789abcdef.part", stem(&path).expect("a name").display())), "half")
            .expect("writable");
        replace(&path, b"new").expect("writable");
        assert_eq!("new", read(&path));
        assert_eq!(1, folder.names().len());
    }
}
