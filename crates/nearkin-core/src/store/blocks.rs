//! Texts of documents in compressed blocks.
//!
//! Neighbouring texts share a block of `MIN_BLOCK` to `MAX_BLOCK` bytes; a longer text has its own block. Before compression a
//! block contains, for each document, the length of its text plus one, or 0 if it has none, as a varint (groups of
//! seven bits, lowest first); then the texts. Reading one text decompresses one block. The block table has three words
//! per block: the end of its bytes; its first position and (upper half) its uncompressed length; and the XXH3-64 of its
//! bytes.
//!
//! The dictionary is trained on the texts themselves, and kept if it saves more on a sample of blocks than it costs.

use std::ops::Range;
use std::sync::Arc;

use crate::parallel::prelude::*;
use xxhash_rust::xxh3::xxh3_64;
use zstd_safe::{CDict, DDict};

use super::compress::{Encoder, decode, decoding, encoding, no_memory, train};
use super::find::lower_bound;
use super::pages::{PageWriter, Paged};
use super::tags::{BLOCKS, DICTIONARY, TEXTS};
use crate::cancel::CancelToken;
use crate::segment::{Column, Segment};
use crate::text::tokenizer::TextSource;
use crate::{Error, Result, alloc};

/// Target size of a block in bytes, and the maximum size of a block of several texts.
pub(super) const MIN_BLOCK: usize = 14 << 10;
pub(super) const MAX_BLOCK: usize = 20 << 10;
/// Maximum number of documents per block, which limits blocks of documents without text.
const DOCUMENTS: usize = 1 << 10;
/// Number of blocks compressed before they are written.
const GROUP: usize = 256;
/// Size of a dictionary, and the minimum size of the texts to train one.
const DICTIONARY_SIZE: usize = 64 << 10;
const WORTH_LEARNING: usize = 1 << 20;
/// Number of blocks on which a dictionary is evaluated.
const TRIED: usize = 64;
/// Words per block in the table.
pub(super) const WORDS: usize = 3;
/// Maximum length of a text: block lengths have 32 bits.
const LONGEST: usize = u32::MAX as usize - 16;

/// Return the documents of the block that begins at `first`.
pub(super) fn cut(texts: &dyn TextSource, first: usize) -> Range<usize> {
    let (mut end, mut size) = (first, 0);
    while end < texts.len() && end - first < DOCUMENTS && size < MIN_BLOCK {
        let length = texts.get(end).map_or(0, str::len);
        if end > first && size + length > MAX_BLOCK {
            break;
        }
        size += length;
        end += 1;
    }
    first..end
}

/// Maximum number of bytes of an encoded length.
const LENGTH: usize = 5;

/// Encode a block.
pub(super) fn assemble(texts: &dyn TextSource, documents: Range<usize>, out: &mut Vec<u8>) -> Result<()> {
    let bytes: usize = documents.clone().filter_map(|position| texts.get(position)).map(str::len).sum();
    out.clear();
    alloc::try_reserve(out, bytes + LENGTH * documents.len())?;
    for position in documents.clone() {
        let mut rest = texts.get(position).map_or(0, |text| text.len() + 1);
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
    for text in documents.filter_map(|position| texts.get(position)) {
        out.extend_from_slice(text.as_bytes());
    }
    Ok(())
}

/// Train a dictionary for the blocks; empty if none is worth its bytes.
fn learn(texts: &dyn TextSource, blocks: &[Range<usize>], bytes: u64, level: i32) -> Result<Vec<u8>> {
    if bytes < WORTH_LEARNING as u64 {
        return Ok(Vec::new());
    }
    let dictionary = train(texts, DICTIONARY_SIZE)?;
    let ready = encoding(&dictionary, level)?;
    let (mut with, mut without) = (Encoder::new(ready.as_deref(), level)?, Encoder::new(None, level)?);
    let (mut raw, mut saved, mut block) = (0_u64, 0_i64, Vec::new());
    for documents in blocks.iter().step_by(blocks.len().div_ceil(TRIED).max(1)) {
        assemble(texts, documents.clone(), &mut block)?;
        raw += block.len() as u64;
        saved += without.encode(&block)?.len() as i64 - with.encode(&block)?.len() as i64;
    }
    let all = i128::from(saved) * i128::from(bytes) / i128::from(raw.max(1));
    Ok(if all > dictionary.len() as i128 { dictionary } else { Vec::new() })
}

/// Write the blocks of texts; return the number of texts and their bytes.
pub(super) fn plan(texts: &dyn TextSource, cancel: &CancelToken) -> Result<(Vec<Range<usize>>, u64, u64)> {
    let (mut blocks, mut first, mut count, mut bytes) = (Vec::new(), 0, 0_u64, 0_u64);
    while first < texts.len() {
        if blocks.len().is_multiple_of(1 << 10) {
            cancel.check()?;
        }
        let block = cut(texts, first);
        for text in block.clone().filter_map(|position| texts.get(position)) {
            if text.len() > LONGEST {
                return Err(Error::parameter("texts", format!("one of {} bytes", text.len()), "texts below 4 GiB"));
            }
            count += 1;
            bytes += text.len() as u64;
        }
        first = block.end;
        alloc::try_reserve(&mut blocks, 1)?;
        blocks.push(block);
    }
    Ok((blocks, count, bytes))
}

/// Uncompressed length and frame of each block.
pub(super) fn compressed(
    texts: &dyn TextSource,
    blocks: &[Range<usize>],
    dictionary: Option<&CDict<'static>>,
    level: i32,
    cancel: &CancelToken,
) -> Result<Vec<(usize, Vec<u8>)>> {
    let encoder = || (Encoder::new(dictionary, level), Vec::new());
    let compress_block = |(encoder, block): &mut (Result<Encoder<'_>>, Vec<u8>), documents: &Range<usize>| {
        cancel.check()?;
        assemble(texts, documents.clone(), block)?;
        let encoder = encoder.as_mut().map_err(|_| no_memory())?;
        Ok((block.len(), encoder.encode(block)?))
    };
    // Outside a pool the calling thread compresses alone.
    if blocks.len() > 1 && rayon::current_thread_index().is_some() {
        return alloc::try_map_parallel(blocks.par_iter().map_init(encoder, compress_block));
    }
    let mut state = encoder();
    alloc::try_map(blocks.iter().map(|documents| compress_block(&mut state, documents)))
}

/// Write texts; return their number and their bytes. Without any text nothing is written.
pub(super) fn write(pages: &mut PageWriter, texts: &dyn TextSource, level: i32) -> Result<(u64, u64)> {
    let cancel = CancelToken::current();
    let (blocks, count, bytes) = plan(texts, &cancel)?;
    if count == 0 {
        return Ok((0, 0));
    }
    let dictionary = learn(texts, &blocks, bytes, level)?;
    let ready = encoding(&dictionary, level)?;
    if !dictionary.is_empty() {
        pages.plain().section(DICTIONARY, 0, &dictionary)?;
    }
    let mut table = alloc::try_with_capacity(WORDS * blocks.len())?;
    pages.plain().stream(TEXTS, 0, |out| {
        let mut end = 0;
        for group in blocks.chunks(GROUP) {
            let made = compressed(texts, group, ready.as_deref(), level, &cancel)?;
            for (documents, (length, block)) in group.iter().zip(made) {
                end += block.len() as u64;
                table.extend([end, documents.start as u64 | (length as u64) << 32, xxh3_64(&block)]);
                out.append(&block)?;
            }
        }
        Ok(())
    })?;
    pages.array(BLOCKS, &table)?;
    Ok((count, bytes))
}

/// The texts of a file.
pub(super) struct Blocks {
    segment: Segment,
    table: Paged<u64>,
    bytes: Column<u8>,
    dictionary: Option<Arc<DDict<'static>>>,
    documents: usize,
}

/// A decompressed block.
pub(super) struct Block {
    bytes: Vec<u8>,
    /// Byte range of the text of each document.
    texts: Vec<Option<Range<usize>>>,
}

impl Block {
    /// Decompress the block of a frame.
    ///
    /// # Errors
    /// Memory runs out; `corrupt` with the reason if the frame is not such a block.
    pub(super) fn decode(
        frame: &[u8],
        length: usize,
        documents: usize,
        dictionary: Option<&DDict<'_>>,
        corrupt: impl Fn(&str) -> Error,
    ) -> Result<Self> {
        let bytes = decode(frame, length, dictionary, &corrupt)?;
        // Every document takes at least one byte.
        if documents > bytes.len() {
            return Err(corrupt("has fewer texts than documents"));
        }
        let (mut texts, mut at) = (alloc::try_with_capacity(documents)?, 0);
        let mut lengths = alloc::try_with_capacity(documents)?;
        for _ in 0..documents {
            let (mut value, mut shift) = (0_u64, 0);
            loop {
                let &byte = bytes.get(at).ok_or_else(|| corrupt("ends within its lengths"))?;
                at += 1;
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
                if shift > 35 {
                    return Err(corrupt("has a length of too many bytes"));
                }
            }
            lengths.push(value);
        }
        for length in lengths {
            let Some(length) = length.checked_sub(1) else {
                texts.push(None);
                continue;
            };
            let end = at + length as usize;
            if end > bytes.len() {
                return Err(corrupt("ends within its texts"));
            }
            texts.push(Some(at..end));
            at = end;
        }
        if at == bytes.len() { Ok(Self { bytes, texts }) } else { Err(corrupt("holds more than its texts")) }
    }

    /// Return the text of each document.
    ///
    /// # Errors
    /// Memory runs out; `corrupt` with the reason if a text is invalid.
    pub(super) fn strings(&self, corrupt: impl Fn(&str) -> Error) -> Result<Vec<Option<String>>> {
        alloc::try_map(self.texts.iter().map(|range| {
            let Some(range) = range.clone() else { return Ok(None) };
            let text = std::str::from_utf8(&self.bytes[range]);
            alloc::try_string(text.map_err(|_| corrupt("holds a text that is not UTF-8"))?).map(Some)
        }))
    }
}

impl Blocks {
    pub(super) fn open(segment: &Segment, documents: usize) -> Result<Self> {
        let table = Paged::<u64>::open(segment, BLOCKS, "table of blocks")?;
        if !table.len().is_multiple_of(WORDS) || table.len() > WORDS * documents {
            return Err(table.corrupt(&format!("has {} words for {documents} documents", table.len())));
        }
        let dictionary = if segment.has(DICTIONARY, 0) {
            segment.verify_one(DICTIONARY, 0)?;
            decoding(&segment.column::<u8>(DICTIONARY, 0)?)
                .map_err(|_| segment.corrupt(format!("section {DICTIONARY}.0 is no dictionary")))?
        } else {
            None
        };
        Ok(Self { segment: segment.clone(), table, bytes: segment.column(TEXTS, 0)?, dictionary, documents })
    }

    fn len(&self) -> usize {
        self.table.len() / WORDS
    }

    /// Return the first position of a block, or the number of documents after the last one.
    fn first(&self, block: usize) -> Result<usize> {
        if block == self.len() {
            return Ok(self.documents);
        }
        Ok(self.table.get(WORDS * block + 1)? as u32 as usize)
    }

    /// Return the block of a position, and its documents.
    fn of(&self, position: usize) -> Result<(usize, Range<usize>)> {
        let next = position as u64 + 1;
        let after = lower_bound(0..self.len(), (0, self.documents as u64), next, |block| {
            let first = self.first(block)? as u64;
            Ok((first < next, first))
        })?;
        let block = after.checked_sub(1).ok_or_else(|| self.table.corrupt("does not begin with the first document"))?;
        let documents = self.first(block)?..self.first(after)?;
        if documents.contains(&position) { Ok((block, documents)) } else { Err(self.table.corrupt("does not ascend")) }
    }

    fn corrupt(&self, block: usize, reason: &str) -> Error {
        self.segment.corrupt(format!("block {block} of section {TEXTS}.0 (texts) {reason}"))
    }

    /// Return the uncompressed length of a block and its verified frame.
    fn frame(&self, block: usize) -> Result<(usize, &[u8])> {
        let begin = if block == 0 { 0 } else { self.table.get(WORDS * (block - 1))? };
        let &[end, length, sum] = self.table.slice(WORDS * block..WORDS * (block + 1))? else {
            return Err(self.table.corrupt("ends early"));
        };
        let range = usize::try_from(begin).ok().zip(usize::try_from(end).ok());
        let frame = range.and_then(|(begin, end)| self.bytes.get(begin..end));
        let frame = frame.ok_or_else(|| self.corrupt(block, "lies outside of it"))?;
        if xxh3_64(frame) != sum {
            return Err(self.corrupt(block, "does not match its checksum; restore the file from a copy"));
        }
        Ok(((length >> 32) as usize, frame))
    }

    pub(super) fn read(&self, block: usize, documents: usize) -> Result<Block> {
        let (length, frame) = self.frame(block)?;
        Block::decode(frame, length, documents, self.dictionary.as_deref(), |reason| self.corrupt(block, reason))
    }

    fn text<'a>(&self, block: &'a Block, at: usize) -> Result<Option<&'a str>> {
        let Some(range) = block.texts.get(at).cloned().flatten() else { return Ok(None) };
        let text = std::str::from_utf8(&block.bytes[range]);
        Ok(Some(text.map_err(|_| self.segment.corrupt(format!("section {TEXTS}.0 holds a text that is not UTF-8")))?))
    }

    /// Return the dictionary; empty if there is none.
    pub(super) fn dictionary(&self) -> Result<Vec<u8>> {
        let there = self.segment.has(DICTIONARY, 0);
        if there { alloc::try_copy(&self.segment.column::<u8>(DICTIONARY, 0)?) } else { Ok(Vec::new()) }
    }

    /// Return the prepared dictionary.
    pub(super) fn decoder(&self) -> Option<&DDict<'static>> {
        self.dictionary.as_deref()
    }

    /// Call `each` with every block in order: its documents, its uncompressed length and its verified frame.
    pub(super) fn each(&self, mut each: impl FnMut(usize, usize, &[u8]) -> Result<()>) -> Result<()> {
        for block in 0..self.len() {
            let (length, frame) = self.frame(block)?;
            let documents = self.first(block + 1)?.checked_sub(self.first(block)?);
            each(documents.ok_or_else(|| self.table.corrupt("does not ascend"))?, length, frame)?;
        }
        Ok(())
    }

    /// Return the texts at positions.
    pub(super) fn texts(&self, positions: &[usize]) -> Result<Vec<Option<String>>> {
        let cancel = CancelToken::current();
        let mut order: Vec<usize> = alloc::try_collect(0..positions.len())?;
        order.sort_unstable_by_key(|&i| positions[i]);
        let mut groups = Vec::new();
        let mut at = 0;
        while at < order.len() {
            let (block, documents) = self.of(positions[order[at]])?;
            let begin = at;
            while at < order.len() && positions[order[at]] < documents.end {
                at += 1;
            }
            alloc::try_reserve(&mut groups, 1)?;
            groups.push((block, documents, begin..at));
        }
        let compress_block =
            |(block, documents, selected): &(usize, Range<usize>, Range<usize>)| -> Result<Vec<Option<String>>> {
                cancel.check()?;
                let found = self.read(*block, documents.len())?;
                let selected = order[selected.clone()].iter();
                let text =
                    |&i: &usize| self.text(&found, positions[i] - documents.start)?.map(alloc::try_string).transpose();
                alloc::try_map(selected.map(text))
            };
        let found: Vec<Vec<Option<String>>> = if groups.len() > 1 && rayon::current_thread_index().is_some() {
            alloc::try_map_parallel(groups.par_iter().map(compress_block))?
        } else {
            alloc::try_map(groups.iter().map(compress_block))?
        };
        let mut texts = alloc::try_filled(None, positions.len())?;
        for (i, text) in order.into_iter().zip(found.into_iter().flatten()) {
            texts[i] = text;
        }
        Ok(texts)
    }

    /// Read every block, and count texts and bytes.
    pub(super) fn verify(&self, cancel: &CancelToken) -> Result<(u64, u64)> {
        self.table.verify(cancel)?;
        let mut end = 0;
        for block in 0..self.len() {
            let before = end;
            end = self.table.get(WORDS * block)?;
            if end < before || self.first(block)? >= self.first(block + 1)? || (block == 0 && self.first(0)? != 0) {
                return Err(self.table.corrupt("does not ascend"));
            }
        }
        if end != self.bytes.len() as u64 {
            return Err(self.table.corrupt("does not end with the texts"));
        }
        let compress_block = |block: usize| -> Result<(u64, u64)> {
            cancel.check()?;
            let found = self.read(block, self.first(block + 1)? - self.first(block)?)?;
            let mut counted = (0, 0);
            for at in 0..found.texts.len() {
                if let Some(text) = self.text(&found, at)? {
                    counted = (counted.0 + 1, counted.1 + text.len() as u64);
                }
            }
            Ok(counted)
        };
        let add = |a: (u64, u64), b: (u64, u64)| Ok((a.0 + b.0, a.1 + b.1));
        if rayon::current_thread_index().is_some() {
            return alloc::try_map_parallel((0..self.len()).into_par_iter().map(compress_block))?
                .into_iter()
                .try_fold((0, 0), add);
        }
        (0..self.len()).try_fold((0, 0), |sum, block| add(sum, compress_block(block)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::Texts;

    #[test]
    fn blocks_end_where_their_bytes_say() {
        let cuts = |lengths: &[usize]| {
            let texts = Texts(lengths.iter().map(|&length| Some("x".repeat(length))).collect());
            plan(&texts, &CancelToken::default()).expect("room").0
        };
        assert_eq!(vec![0..2, 2..3], cuts(&[10 << 10; 3]));
        // A text that would make the block too long begins the next one; a long text has its own block.
        assert_eq!(vec![0..1, 1..2, 2..3], cuts(&[13 << 10, 8 << 10, 1 << 20]));
        assert_eq!(vec![0..DOCUMENTS, DOCUMENTS..DOCUMENTS + 1], cuts(&vec![0; DOCUMENTS + 1]));
    }

    /// Return the size of the uncompressed contents of a block.
    fn read(bytes: &[u8], documents: usize) -> Result<Vec<Option<String>>> {
        let frame = Encoder::new(None, 1).and_then(|mut encoder| encoder.encode(bytes)).expect("room");
        let corrupt = |reason: &str| Error::Corrupt { place: "block".to_owned(), reason: reason.to_owned() };
        Block::decode(&frame, bytes.len(), documents, None, corrupt)?.strings(corrupt)
    }

    #[test]
    fn a_block_is_lengths_and_then_texts() {
        let (mut bytes, texts) = (Vec::new(), Texts(vec![Some("ab".to_owned()), None, Some("c".repeat(200))]));
        assemble(&texts, 0..3, &mut bytes).expect("room");
        // 201 is encoded as 73 with the highest bit set, and 1.
        assert_eq!([3, 0, 128 + 73, 1, b'a', b'b', b'c'], bytes[..7]);
        assert_eq!((206, texts.0.clone()), (bytes.len(), read(&bytes, 3).expect("whole")));
        assemble(&texts, 1..2, &mut bytes).expect("room");
        assert_eq!((vec![0], vec![None]), (bytes.clone(), read(&bytes, 1).expect("whole")));
    }

    #[test]
    fn bytes_that_are_no_block_say_why() {
        for (bytes, documents, expected) in [
            (&[1, 1][..], 3, "has fewer texts than documents"),
            (&[0x80], 1, "ends within its lengths"),
            (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1], 1, "has a length of too many bytes"),
            (&[3, b'a'], 1, "ends within its texts"),
            (&[2, b'a', b'b'], 1, "holds more than its texts"),
            (&[2, 0xff], 1, "holds a text that is not UTF-8"),
        ] {
            let Err(Error::Corrupt { reason, .. }) = read(bytes, documents) else { panic!("{expected}") };
            assert_eq!(expected, reason);
        }
    }
}
