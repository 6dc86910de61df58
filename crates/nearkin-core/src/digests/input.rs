//! Inputs of digests: bytes in memory and regular files, read in one or more passes.

use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use xxhash_rust::xxh3::Xxh3;

use crate::cancel::CancelToken;
use crate::error::{Error, Result};

/// An input that can be read more than once.
pub trait DigestInput {
    /// Return the length in bytes.
    fn length(&self) -> u64;

    /// Return the name of the input in errors.
    fn name(&self) -> &str;

    /// Pass the input to `each`, in order, in buffers of any size.
    ///
    /// # Errors
    /// If it can't be read, if its length changed, or if the call is cancelled.
    fn pass(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<()>;
}

impl DigestInput for &[u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn name(&self) -> &'static str {
        "data"
    }

    fn pass(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let cancel = CancelToken::current();
        for part in self.chunks(PART) {
            cancel.check()?;
            each(part);
        }
        Ok(())
    }
}

/// Size of the chunks passed on from memory: large enough for many pieces, small enough for a cancellation point every
/// tenth of a second.
const PART: usize = 1 << 27;
/// Number of bytes of a file kept between the two passes; longer files are read twice through a buffer of this size.
pub(super) const BUFFER: u64 = 1 << 22;

thread_local! {
    /// The buffer of this thread's last file, so that many small files need one allocation.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A regular file that is open for reading.
pub struct FileInput {
    file: File,
    name: String,
    length: u64,
    /// At least as long as one read.
    buffer: Vec<u8>,
    /// True if `buffer` contains the complete file.
    whole: bool,
    /// True once a byte was read, so that another pass must seek back.
    moved: bool,
}

impl Drop for FileInput {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        // During thread exit the buffer can't be stored.
        let _ = SPARE.try_with(|spare| spare.set(buffer));
    }
}

impl FileInput {
    /// Open the file at `path`. Only regular files have a reliable length.
    ///
    /// # Errors
    /// If it can't be opened or is not a regular file (a FIFO or device would block, `/proc` files report no length).
    pub fn open(path: &std::path::Path) -> Result<Self> {
        let name = path.display().to_string();
        let fail = |action: &str| {
            let action = format!("{action} {name}");
            move |source| Error::Io { action, source }
        };
        // Check before opening, because opening a FIFO blocks. If the file is replaced in between, reading detects the
        // different length.
        let kind = std::fs::metadata(path).map_err(fail("reading the kind of"))?;
        if !kind.is_file() {
            let kind = if kind.is_dir() { "a directory" } else { "a pipe, socket or device" };
            return Err(Error::input(name, format!("{kind}, not a regular file; name regular files")));
        }
        let length = kind.len();
        let file = File::open(path).map_err(fail("opening"))?;
        let buffer = SPARE.try_with(Cell::take).unwrap_or_default();
        Ok(Self { file, name, length, buffer, whole: false, moved: false })
    }

    /// Read up to `requested` bytes: fewer only at the end of the file, or if the `expected` bytes were read and a read
    /// for more returned none.
    fn fill(&mut self, requested: usize, expected: usize) -> Result<usize> {
        let mut got = 0;
        while got < requested {
            match self.file.read(&mut self.buffer[got..requested]) {
                Ok(0) => break,
                Ok(n) => {
                    got += n;
                    if got == expected && got < requested {
                        break;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::Io { action: format!("reading {}", self.name), source }),
            }
        }
        Ok(got)
    }
}

impl DigestInput for FileInput {
    fn length(&self) -> u64 {
        self.length
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn pass(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        if self.whole {
            each(&self.buffer[..self.length as usize]);
            return Ok(());
        }
        if self.moved {
            self.file
                .seek(SeekFrom::Start(0))
                .map_err(|source| Error::Io { action: format!("reading {}", self.name), source })?;
        }
        self.moved = true;
        // One byte more than the reported length detects a file that has grown or reported a wrong length.
        let size = (self.length + 1).min(BUFFER + 1) as usize;
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        let cancel = CancelToken::current();
        let mut total = 0;
        loop {
            cancel.check()?;
            let requested = (self.length + 1 - total).min(BUFFER + 1) as usize;
            let got = self.fill(requested, (self.length - total) as usize)?;
            total += got as u64;
            if total > self.length || (got < requested && total < self.length) {
                return Err(Error::input(
                    self.name.clone(),
                    format!(
                        "read {total} bytes where {} were stated; it changes while read or hides its length: copy it first",
                        self.length
                    ),
                ));
            }
            each(&self.buffer[..got]);
            if total == self.length && got < requested {
                self.whole = self.length <= BUFFER;
                return Ok(());
            }
        }
    }
}

/// The fingerprint of a file for deduplication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashed {
    /// Its digest.
    pub digest: String,
    /// XXH3-128 (seed 0) of its bytes: n files collide with a probability below n² / 2^129.
    pub content: u128,
    /// Its length in bytes.
    pub length: u64,
}

/// Return the digest that `digest` computes of the regular file at `path`, with its content hash and length; the file is
/// read as often as for its digest alone.
///
/// # Errors
/// As [`FileInput::open`], and those of `digest`.
pub fn hash_with_content(
    path: &std::path::Path,
    digest: impl FnOnce(&mut SummedFile) -> Result<String>,
) -> Result<Hashed> {
    let mut source = SummedFile { file: FileInput::open(path)?, sum: Some(Xxh3::new()), content: 0 };
    let digest = digest(&mut source)?;
    Ok(Hashed { digest, content: source.content, length: source.file.length })
}

/// A file whose first pass also hashes its content.
pub struct SummedFile {
    file: FileInput,
    sum: Option<Xxh3>,
    content: u128,
}

impl DigestInput for SummedFile {
    fn length(&self) -> u64 {
        self.file.length
    }

    fn name(&self) -> &str {
        &self.file.name
    }

    fn pass(&mut self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let Some(mut sum) = self.sum.take() else { return self.file.pass(each) };
        self.file.pass(&mut |bytes| {
            sum.update(bytes);
            each(bytes);
        })?;
        self.content = sum.digest128();
        Ok(())
    }
}

/// Return the bytes of the regular file at `path`.
///
/// # Errors
/// As [`FileInput::open`], and if it can't be read or changes while it is read.
pub fn read_file(path: &std::path::Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    FileInput::open(path)?.pass(&mut |chunk| bytes.extend_from_slice(chunk))?;
    Ok(bytes)
}
