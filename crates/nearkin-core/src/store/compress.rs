//! Frames of zstd (RFC 8878), with or without a dictionary learned from texts.
//!
//! Text is written once and read for years, so that the reader's speed and the ratio count. A dictionary gives a short text
//! something to point back to; it is learned by the cover algorithm of Liao, Petri, Moffat and Wirth (WWW 2016), which
//! zstd has.
//!
//! **What a length is worth.** A block of a frame costs at least 4 bytes and holds at most 128 KiB (RFC 8878, 3.1.1.2), so
//! b bytes decompress to at most 32,768 b. A length beyond that is refused before memory is asked for.

use std::cell::RefCell;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;
use zstd_safe::{CCtx, CDict, CParameter, DCtx, DDict, ErrorCode, compress_bound, get_error_name, train_from_buffer};

use crate::stop::Stop;
use crate::text::tokenizer::TextSource;
use crate::{Error, Result};

/// Most bytes that one byte of a frame can decompress to.
const MOST_PER_BYTE: usize = 1 << 15;
/// Bytes of each text that a dictionary is learned from.
const LONGEST: usize = 1 << 12;
/// Bytes of texts that a byte of a dictionary is learned from: twice as many gain nothing, measured on news in two languages.
const LEARNED: usize = 48;
/// Levels of compression; those above take the memory of long windows and gain nothing on short texts.
const LEVELS: std::ops::RangeInclusive<i32> = 1..=19;

/// A dictionary made ready, with its hash and level.
type Ready<D> = RefCell<Option<(u128, i32, Arc<D>)>>;

thread_local! {
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    /// The dictionaries that this thread used last: making one ready takes longer than using it for one text.
    static ENCODING: Ready<CDict<'static>> = const { RefCell::new(None) };
    static DECODING: Ready<DDict<'static>> = const { RefCell::new(None) };
}

pub(super) fn check_level(level: i32) -> Result<()> {
    if LEVELS.contains(&level) {
        return Ok(());
    }
    Err(Error::parameter("level", level, format!("{} to {}", LEVELS.start(), LEVELS.end())))
}

fn no_memory() -> Error {
    Error::Io { action: "compress".to_owned(), source: std::io::ErrorKind::OutOfMemory.into() }
}

fn failed(code: ErrorCode) -> Error {
    Error::Io { action: "compress".to_owned(), source: std::io::Error::other(get_error_name(code)) }
}

/// A dictionary made ready by `make`, or the one that this thread used last if it is the same.
fn ready<D>(
    last: &'static std::thread::LocalKey<Ready<D>>,
    dictionary: &[u8],
    level: i32,
    make: impl FnOnce() -> Option<D>,
) -> Result<Option<Arc<D>>> {
    if dictionary.is_empty() {
        return Ok(None);
    }
    let hash = xxh3_128(dictionary);
    let kept = last.with_borrow(|last| {
        last.as_ref().filter(|last| (last.0, last.1) == (hash, level)).map(|last| Arc::clone(&last.2))
    });
    if kept.is_some() {
        return Ok(kept);
    }
    let allowed = "a dictionary that was learned from texts";
    let made = make().ok_or_else(|| {
        Error::parameter("dictionary", format!("{} bytes that zstd does not take", dictionary.len()), allowed)
    })?;
    let made = Arc::new(made);
    last.set(Some((hash, level, Arc::clone(&made))));
    Ok(Some(made))
}

pub(super) fn encoding(dictionary: &[u8], level: i32) -> Result<Option<Arc<CDict<'static>>>> {
    ready(&ENCODING, dictionary, level, || CDict::try_create(dictionary, level))
}

pub(super) fn decoding(dictionary: &[u8]) -> Result<Option<Arc<DDict<'static>>>> {
    ready(&DECODING, dictionary, 0, || DDict::try_create(dictionary))
}

/// Compresses one after another.
pub(super) struct Encoder<'d> {
    context: CCtx<'d>,
    out: Vec<u8>,
}

impl<'d> Encoder<'d> {
    /// With a dictionary made ready for this level, or none.
    pub(super) fn new(dictionary: Option<&'d CDict<'static>>, level: i32) -> Result<Self> {
        let mut context = CCtx::try_create().ok_or_else(no_memory)?;
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::ChecksumFlag(false),
            CParameter::ContentSizeFlag(true),
            CParameter::DictIdFlag(false),
        ] {
            context.set_parameter(parameter).map_err(failed)?;
        }
        if let Some(dictionary) = dictionary {
            context.ref_cdict(dictionary).map_err(failed)?;
        }
        Ok(Self { context, out: Vec::new() })
    }

    /// One frame.
    pub(super) fn encode(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.out.clear();
        self.out.reserve(compress_bound(bytes.len()));
        self.context.compress2(&mut self.out, bytes).map_err(failed)?;
        Ok(self.out.clone())
    }
}

/// Decompresses `bytes` into `out`, which holds `length` bytes then; why not, otherwise.
pub(super) fn decode(
    bytes: &[u8],
    length: usize,
    dictionary: Option<&DDict<'_>>,
    out: &mut Vec<u8>,
) -> std::result::Result<(), String> {
    if length > bytes.len().saturating_mul(MOST_PER_BYTE) {
        return Err(format!("is said to hold {length} bytes in {}, which is impossible", bytes.len()));
    }
    out.clear();
    out.try_reserve_exact(length).map_err(|_| format!("holds {length} bytes, more than there is memory for"))?;
    let found = DECODER.with_borrow_mut(|decoder| {
        let decoder = match decoder {
            Some(decoder) => decoder,
            None => decoder.insert(DCtx::try_create().ok_or_else(|| "finds no memory to decompress".to_owned())?),
        };
        let found = match dictionary {
            Some(dictionary) => decoder.decompress_using_ddict(out, bytes, dictionary),
            None => decoder.decompress(out, bytes),
        };
        found.map_err(|code| format!("can't be decompressed ({})", get_error_name(code)))
    })?;
    if found == length { Ok(()) } else { Err(format!("holds {found} bytes and not {length}")) }
}

/// A dictionary of at most `size` bytes, learned from a sample of the texts; empty where they are too few or too short.
///
/// Equal texts give an equal dictionary.
///
/// # Errors
/// A size out of range; a call that was stopped.
pub(super) fn train(texts: &dyn TextSource, size: usize) -> Result<Vec<u8>> {
    if !(1 << 10..=1 << 20).contains(&size) {
        return Err(Error::parameter("size", size, "1024 to 1048576 bytes"));
    }
    let lengths = (0..texts.len()).map(|i| texts.get(i).map_or(0, |text| text.len().min(LONGEST)));
    // Every step-th text: about as many bytes as the dictionary is to be learned from.
    let step = lengths.sum::<usize>().div_ceil(LEARNED * size).max(1);
    let (mut sample, mut sizes) = (Vec::new(), Vec::new());
    for text in (0..texts.len()).step_by(step).filter_map(|i| texts.get(i)) {
        let part = &text.as_bytes()[..text.len().min(LONGEST)];
        if !part.is_empty() {
            sample.extend_from_slice(part);
            sizes.push(part.len());
        }
    }
    Stop::current().check()?;
    let mut dictionary = Vec::with_capacity(size);
    // zstd wants some eight bytes and a handful of texts to learn from; what it says to fewer is that it can't.
    Ok(if train_from_buffer(&mut dictionary, &sample, &sizes).is_ok() { dictionary } else { Vec::new() })
}
