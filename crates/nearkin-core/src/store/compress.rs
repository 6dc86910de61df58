//! Zstandard frames (RFC 8878), with or without a dictionary trained on texts.
//!
//! Text is written once and read for years, so decompression speed and ratio matter most. A dictionary gives a short
//! text something to refer to. It is trained by the cover algorithm of Liao, Petri, Moffat and Wirth (WWW 2016), which
//! zstd implements.
//!
//! **Bound on lengths.** A block of a frame costs at least 4 bytes and decompresses to at most 128 KiB (RFC 8878,
//! 3.1.1.2), so b bytes decompress to at most 32,768 b. A longer length is refused before memory is allocated.

use std::cell::RefCell;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;
use zstd_safe::{CCtx, CDict, CParameter, DCtx, DDict, ErrorCode, compress_bound, get_error_name, train_from_buffer};

use crate::cancel::CancelToken;
use crate::text::tokenizer::TextSource;
use crate::{Error, Result, alloc};

/// Maximum number of bytes that one byte of a frame can decompress to.
const MOST_PER_BYTE: usize = 1 << 15;
/// Bytes of each text used for training.
const LONGEST: usize = 1 << 12;
/// Training bytes per byte of the dictionary: twice as many gain nothing, measured on news in two languages.
const LEARNED: usize = 48;
/// Compression levels. Higher ones need memory for long windows and gain nothing on short texts.
const LEVELS: std::ops::RangeInclusive<i32> = 1..=19;

/// A prepared dictionary, with its hash and level.
type Ready<D> = RefCell<Option<(u128, i32, Arc<D>)>>;

thread_local! {
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
    /// The dictionaries that this thread used last: preparing one takes longer than using it for one text.
    static ENCODING: Ready<CDict<'static>> = const { RefCell::new(None) };
    static DECODING: Ready<DDict<'static>> = const { RefCell::new(None) };
}

pub(super) fn check_level(level: i32) -> Result<()> {
    if LEVELS.contains(&level) {
        return Ok(());
    }
    Err(Error::parameter("level", level, format!("{} to {}", LEVELS.start(), LEVELS.end())))
}

pub(super) fn no_memory() -> Error {
    Error::Io { action: "compress".to_owned(), source: std::io::ErrorKind::OutOfMemory.into() }
}

/// zstd's code for a failed allocation: `ZSTD_error_memory_allocation`, negated.
const NO_MEMORY: ErrorCode = 64_usize.wrapping_neg();
/// zstd's code for an invalid dictionary: `ZSTD_error_dictionary_corrupted`, negated.
const NO_DICTIONARY: ErrorCode = 30_usize.wrapping_neg();
/// The empty frame: magic number, length of one byte, 0, an empty last block (RFC 8878, 3.1.1).
const NOTHING: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0];

fn failed(code: ErrorCode) -> Error {
    if code == NO_MEMORY {
        return no_memory();
    }
    Error::Io { action: "compress".to_owned(), source: std::io::Error::other(get_error_name(code)) }
}

/// Return the reason why a dictionary can't be prepared. zstd only reports it when a frame is decompressed with it.
fn refused(dictionary: &[u8]) -> Error {
    let Some(mut decoder) = DCtx::try_create() else { return no_memory() };
    match decoder.decompress_using_dict(&mut [0_u8; 1][..], NOTHING, dictionary) {
        Err(NO_DICTIONARY) => {
            let found = format!("{} bytes that zstd does not take", dictionary.len());
            Error::parameter("dictionary", found, "a dictionary that was learned from texts")
        }
        _ => no_memory(),
    }
}

/// Return the dictionary that this thread used last if it is the same, or prepare it with `make`.
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
    let prepared = Arc::new(make().ok_or_else(|| refused(dictionary))?);
    last.set(Some((hash, level, Arc::clone(&prepared))));
    Ok(Some(prepared))
}

pub(super) fn encoding(dictionary: &[u8], level: i32) -> Result<Option<Arc<CDict<'static>>>> {
    ready(&ENCODING, dictionary, level, || CDict::try_create(dictionary, level))
}

pub(super) fn decoding(dictionary: &[u8]) -> Result<Option<Arc<DDict<'static>>>> {
    ready(&DECODING, dictionary, 0, || DDict::try_create(dictionary))
}

/// Compresses several inputs with one context.
pub(super) struct Encoder<'d> {
    context: CCtx<'d>,
    out: Vec<u8>,
}

impl<'d> Encoder<'d> {
    /// Create a compressor with a dictionary prepared for this level, or without one.
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

    /// Compress one frame.
    pub(super) fn encode(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        self.out.clear();
        alloc::try_reserve(&mut self.out, compress_bound(bytes.len()))?;
        self.context.compress2(&mut self.out, bytes).map_err(failed)?;
        alloc::try_copy(&self.out)
    }
}

/// Decompress `bytes` to exactly `length` bytes.
///
/// # Errors
/// Memory runs out; `corrupt` with the reason if the frame is invalid.
pub(super) fn decode(
    bytes: &[u8],
    length: usize,
    dictionary: Option<&DDict<'_>>,
    corrupt: impl Fn(&str) -> Error,
) -> Result<Vec<u8>> {
    if length > bytes.len().saturating_mul(MOST_PER_BYTE) {
        return Err(corrupt(&format!("is said to hold {length} bytes in {}, which is impossible", bytes.len())));
    }
    let mut out = alloc::try_with_capacity(length)?;
    let found = DECODER.with_borrow_mut(|decoder| {
        let decoder = match decoder {
            Some(decoder) => decoder,
            None => decoder.insert(DCtx::try_create().ok_or_else(no_memory)?),
        };
        let found = match dictionary {
            Some(dictionary) => decoder.decompress_using_ddict(&mut out, bytes, dictionary),
            None => decoder.decompress(&mut out, bytes),
        };
        found.map_err(|code| match code {
            NO_MEMORY => no_memory(),
            code => corrupt(&format!("can't be decompressed ({})", get_error_name(code))),
        })
    })?;
    if found == length { Ok(out) } else { Err(corrupt(&format!("holds {found} bytes and not {length}"))) }
}

/// Train a dictionary of at most `size` bytes on a sample of the texts; empty if they are too few or too short.
///
/// Equal texts give an equal dictionary.
///
/// # Errors
/// A size out of range; a cancelled call; memory runs out.
pub(super) fn train(texts: &dyn TextSource, size: usize) -> Result<Vec<u8>> {
    if !(1 << 10..=1 << 20).contains(&size) {
        return Err(Error::parameter("size", size, "1024 to 1048576 bytes"));
    }
    let lengths = (0..texts.len()).map(|i| texts.get(i).map_or(0, |text| text.len().min(LONGEST)));
    // Every step-th text: about as many bytes as the dictionary should be trained on.
    let step = lengths.sum::<usize>().div_ceil(LEARNED * size).max(1);
    let (mut sample, mut sizes) = (Vec::new(), Vec::new());
    for text in (0..texts.len()).step_by(step).filter_map(|i| texts.get(i)) {
        let part = &text.as_bytes()[..text.len().min(LONGEST)];
        if !part.is_empty() {
            alloc::try_extend(&mut sample, part)?;
            alloc::try_reserve(&mut sizes, 1)?;
            sizes.push(part.len());
        }
    }
    CancelToken::current().check()?;
    let mut dictionary = alloc::try_with_capacity(size)?;
    match train_from_buffer(&mut dictionary, &sample, &sizes) {
        Ok(_) => Ok(dictionary),
        Err(NO_MEMORY) => Err(no_memory()),
        // zstd needs about eight bytes and a handful of texts for training; for less it only returns an error.
        Err(_) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::Texts;

    fn corrupt(reason: &str) -> Error {
        Error::Corrupt { place: "frame".to_owned(), reason: reason.to_owned() }
    }

    #[test]
    fn a_frame_becomes_its_bytes_and_no_others() {
        let bytes = b"some words, and some words again, and some words again".as_slice();
        let dictionary = b"and some words again".as_slice();
        let (encode, decode_by) = (encoding(dictionary, 3).expect("made"), decoding(dictionary).expect("made"));
        let frame = Encoder::new(encode.as_deref(), 3).and_then(|mut encoder| encoder.encode(bytes)).expect("room");
        assert_eq!(bytes, decode(&frame, bytes.len(), decode_by.as_deref(), corrupt).expect("whole"));
        for (frame, length, expected) in [
            (&frame[..], bytes.len() + 1, "holds 54 bytes and not 55"),
            (&frame[..3], bytes.len(), "can't be decompressed (Src size is incorrect)"),
            (&frame[..1], MOST_PER_BYTE + 1, "is said to hold 32769 bytes in 1, which is impossible"),
        ] {
            let Err(Error::Corrupt { reason, .. }) = decode(frame, length, decode_by.as_deref(), corrupt) else {
                panic!("{expected}")
            };
            assert_eq!(expected, reason);
        }
        assert_eq!(Vec::<u8>::new(), decode(NOTHING, 0, None, corrupt).expect("the frame of no bytes"));
    }

    #[test]
    fn a_dictionary_that_is_none_is_told_from_memory_that_is_not_there() {
        let none = [&[0x37, 0xa4, 0x30, 0xec][..], &[7; 60]].concat();
        let refused = [encoding(&none, 3).map(drop), decoding(&none).map(drop), Err(refused(&none))];
        for error in refused {
            let Err(Error::Parameter { name: "dictionary", found, .. }) = error else { panic!("{error:?}") };
            assert_eq!("64 bytes that zstd does not take", found);
        }
        // A valid one is refused only if memory runs out.
        let sound = super::refused(b"some words");
        assert!(
            matches!(&sound, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::OutOfMemory),
            "{sound}"
        );
        assert!(encoding(b"", 3).expect("nothing").is_none());
    }

    #[test]
    fn levels_and_sizes_have_their_ranges() {
        assert!([1, 19].iter().all(|&level| check_level(level).is_ok()));
        let error = check_level(20).expect_err("too high").to_string();
        assert_eq!("level=20 is not allowed; use 1 to 19", error);
        let few = Texts::of(&["a text"; 2]);
        assert_eq!(Vec::<u8>::new(), train(&few, 1 << 10).expect("too few to learn from"));
        let error = train(&few, 1023).expect_err("too small").to_string();
        assert_eq!("size=1023 is not allowed; use 1024 to 1048576 bytes", error);
    }
}
