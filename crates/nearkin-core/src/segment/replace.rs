//! Atomic replacement of a file: after a crash at any moment the path contains the old file or the complete new one.
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
//! Until step 5 any failure removes the new file and leaves the old one unchanged. If step 6 fails, the error says that
//! the new file is in place. Writers of one path do not wait for each other: each has its own temporary file, and the
//! last rename wins.
//!
//! **Leftovers.** A writer locks its file exclusively (`flock`) from creation to the end, and the system releases the
//! lock when the process dies. A file with such a name that can be locked has no writer, so the next save removes it. A
//! writer whose new file was mistaken for a leftover, between creation and locking, finds it missing once it has the
//! lock, and starts over. On file systems without locks, leftovers remain.
//!
//! Cost: two syncs, and one listing of the folder. The owner is preserved if the process may change it. Sources: POSIX
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

/// Maximum number of symbolic links followed, the same as on Linux.
const MOST_LINKS: usize = 40;
/// Number of temporary names tried before giving up.
const MOST_NAMES: usize = 100;
/// Maximum length of a name that is part of the temporary name; systems allow 255 bytes.
const LONGEST: usize = 200;
const END: &str = ".part";

/// A temporary file next to the file that it will replace. Write to it, then [commit](Self::commit) it; dropping it
/// removes the file.
#[derive(Debug)]
pub struct Replacement {
    target: PathBuf,
    aside: PathBuf,
    /// Owns the lock while it is open.
    file: File,
    renamed: bool,
}

/// Replace or create the file at `path` with `bytes`.
///
/// # Errors
/// The errors of [`Replacement::begin`] and [`Replacement::commit`]; the disk is full.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut new = Replacement::begin(path)?;
    new.file.write_all(bytes).map_err(failed("write", &new.target))?;
    new.commit()
}

impl Replacement {
    /// Create the temporary file, after removing leftovers of dead writers of the same path.
    ///
    /// # Errors
    /// The path is not a file; an I/O operation fails.
    pub fn begin(path: &Path) -> Result<Self> {
        let random = RandomState::new();
        Self::begin_as(path, (0..MOST_NAMES as u64).map(|attempt| random.hash_one((std::process::id(), attempt))))
    }

    /// Create the temporary file with the numbers that its name contains.
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
        // Until the permissions are copied from the old file, only the owner can read the new one.
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
                Err(error) => return Err(failed("create", &target)(error)),
            };
            if !claim(&file, &aside) {
                continue;
            }
            let new = Self { target, aside, file, renamed: false };
            if let Some(old) = old {
                // Changing the owner clears some permissions, so set them afterwards.
                #[cfg(unix)]
                keep_owner(&new.file, &old);
                new.file.set_permissions(old.permissions()).map_err(failed("set the permissions of", &new.target))?;
            }
            return Ok(new);
        }
        Err(failed("find a free name beside", &target)(io::ErrorKind::AlreadyExists.into()))
    }

    /// Return the path of the file that is replaced, for errors: nobody knows the temporary file.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Sync the new file, rename it to its path, and sync the folder.
    ///
    /// # Errors
    /// An I/O operation fails. The old file is then unchanged, except if the last step fails, which the error says. The
    /// call is cancelled before the rename.
    pub fn commit(mut self) -> Result<()> {
        self.file.sync_all().map_err(failed("sync", &self.target))?;
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
            // A file that can't be removed now is a leftover, which the next save removes.
            let _ = fs::remove_file(&self.aside);
        }
    }
}

/// Return the path itself, or the final target if it is a symbolic link; the target need not exist.
fn follow(path: &Path) -> Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        if !fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink()) {
            return Ok(place);
        }
        let to = fs::read_link(&place).map_err(failed("follow", &place))?;
        // `join` returns `to` alone if it is absolute.
        place = folder_of(&place).join(to);
    }
    let found = format!("{}, a circle of symbolic links or more than {MOST_LINKS} of them", path.display());
    Err(Error::parameter("path", found, "the path of a file to write"))
}

/// Give the new file the owner of the old one, if the process may.
#[cfg(unix)]
fn keep_owner(file: &File, old: &fs::Metadata) {
    use std::os::unix::fs::MetadataExt;
    let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Return the prefix of temporary names for `target`; a very long name is replaced by its hash, because systems limit
/// the length.
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

/// True if `name` is a temporary name with this stem.
fn is_aside(name: &OsStr, stem: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(stem.as_encoded_bytes());
    let number = rest.and_then(|rest| rest.strip_suffix(END.as_bytes()));
    number.is_some_and(|number| number.len() == 16 && number.iter().all(u8::is_ascii_hexdigit))
}

/// Lock a new file; false if it was removed as a leftover before it was locked.
fn claim(file: &File, aside: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => fs::symlink_metadata(aside).is_ok(),
        // A collector has the lock and will remove the file.
        Err(TryLockError::WouldBlock) => false,
        // Without locks, no collector can mistake it for a leftover.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Remove temporary files with this stem that have no writer. Files that can't be read or removed are harmless and
/// remain.
fn collect(folder: &Path, stem: &OsStr) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        // A link or pipe with such a name is not ours.
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

/// Other systems can't sync folders.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Run the last step, after the rename.
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

    /// A temporary folder for a test, removed on drop.
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
        // Each file repeats one byte, and its length follows from that byte.
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
        assert_eq!(folder.path(&format!(".table.{:016x}.part", 8)), new.aside);
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
        // A dangling link: the file is created at its target.
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
        // Names that are not temporary names of this file.
        let others = [".table.xyz.part", ".table.0123456789abcdef.part2", ".other.0123456789abcdef.part"];
        for name in others {
            fs::write(folder.path(name), "kept").expect("writable");
        }
        replace(&path, b"second").expect("writable");
        assert!(!dead.exists());
        assert!(living.aside.exists());
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

        // The rename fails because a folder exists at the path.
        let new = Replacement::begin(&path).expect("writable");
        fs::remove_file(&path).expect("there");
        fs::create_dir(&path).expect("writable");
        let error = new.commit().expect_err("no file goes over a folder").to_string();
        assert!(error.starts_with("rename to "), "{error}");
        assert_eq!(vec!["table"], folder.names());

        let error = replace(&path, b"").expect_err("a folder").to_string();
        assert!(error.contains("which is no regular file"), "{error}");
        let missing = folder.path("missing/table");
        let error = replace(&missing, b"").expect_err("no folder").to_string();
        assert!(error.starts_with(&format!("create {}: ", missing.display())), "{error}");
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
