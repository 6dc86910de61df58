//! Texts in blocks that are compressed once, when documents are added to the log; segment files copy the blocks.
//!
//! A block is copied if it has the dictionary of the new file and is not small. Small blocks and those with other
//! dictionaries are decompressed, and their texts share new blocks with their neighbours. Texts pending before a block
//! that could be copied become a block of their own. If they are few and that block is not long, both are merged into
//! one block, so that the next block can be copied again.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;
use zstd_safe::{CDict, DDict};

use super::blocks::{self, Block, MAX_BLOCK, MIN_BLOCK, WORDS, assemble, compressed, cut, plan};
use super::compress::{Encoder, check_level, decoding, encoding};
use super::pages::PageWriter;
use super::segment::StoreSegment;
use super::tags::{BLOCKS, DICTIONARY, TEXTS};
use crate::cancel::CancelToken;
use crate::segment::{Stream, with_sigbus_guard};
use crate::text::tokenizer::TextSource;
use crate::{Error, Result, alloc};

/// Minimum size of a block that is copied.
const SMALL: usize = MIN_BLOCK / 4;
/// Maximum size of a block that is merged with a few pending texts.
const JOINED: usize = MAX_BLOCK + SMALL;

/// A compressed block of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed<B> {
    /// Number of documents.
    pub documents: usize,
    /// Number of documents with text.
    pub texts: u64,
    /// Total bytes of their texts.
    pub text_bytes: u64,
    /// Uncompressed length of the block.
    pub length: usize,
    /// The frame.
    pub frame: B,
}

/// Pack texts into blocks, compressed at `level`, with a dictionary unless it is empty.
///
/// # Errors
/// An invalid level or dictionary; a text of 4 GiB; memory runs out; a cancelled call.
pub fn pack(texts: &dyn TextSource, level: i32, dictionary: &[u8]) -> Result<Vec<Packed<Vec<u8>>>> {
    check_level(level)?;
    let cancel = CancelToken::current();
    let (blocks, _, _) = plan(texts, &cancel)?;
    let dictionary = encoding(dictionary, level)?;
    let frames = compressed(texts, &blocks, dictionary.as_deref(), level, &cancel)?;
    alloc::try_collect(blocks.into_iter().zip(frames).map(|(documents, (length, frame))| {
        let lengths = documents.clone().filter_map(|position| texts.get(position)).map(|text| text.len() as u64);
        let (count, text_bytes) = (lengths.clone().count() as u64, lengths.sum());
        Packed { documents: documents.len(), texts: count, text_bytes, length, frame }
    }))
}

/// Return the texts of a block that [`pack`] built with the same dictionary.
///
/// # Errors
/// The block is invalid ([`Error::Corrupt`]); memory runs out.
pub fn unpack(frame: &[u8], documents: usize, length: usize, dictionary: &[u8]) -> Result<Vec<Option<String>>> {
    texts_of(frame, documents, length, decoding(dictionary)?.as_deref())
}

fn texts_of(
    frame: &[u8],
    documents: usize,
    length: usize,
    dictionary: Option<&DDict<'_>>,
) -> Result<Vec<Option<String>>> {
    let corrupt =
        |reason: &str| Error::Corrupt { place: "a block of texts".to_owned(), reason: format!("it {reason}") };
    Block::decode(frame, length, documents, dictionary, corrupt)?.strings(corrupt)
}

/// The texts of the documents of a new file.
pub enum TextColumn<'a> {
    /// Uncompressed texts.
    Plain(&'a dyn TextSource),
    /// Blocks compressed earlier.
    Packed(&'a PackedTexts<'a>),
}

impl TextColumn<'_> {
    /// Return the number of documents.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Plain(texts) => texts.len(),
            Self::Packed(texts) => texts.counts().0,
        }
    }

    /// Write the texts; return their number and their bytes. Without any text nothing is written.
    pub(super) fn write(&self, pages: &mut PageWriter, level: i32) -> Result<(u64, u64)> {
        match self {
            Self::Plain(texts) => blocks::write(pages, *texts, level),
            Self::Packed(texts) => texts.write(pages, level),
        }
    }
}

/// A source of compressed blocks.
pub enum BlockSource<'a> {
    /// One block and its dictionary.
    Block(Packed<&'a [u8]>, &'a [u8]),
    /// All blocks of a file.
    File(&'a StoreSegment),
}

/// Texts in blocks, in order of their documents.
pub struct PackedTexts<'a> {
    /// Dictionary of the new file; empty for none.
    pub dictionary: &'a [u8],
    /// The sources of the blocks.
    pub sources: Vec<BlockSource<'a>>,
}

impl PackedTexts<'_> {
    /// Number of documents, number of documents with text, and total bytes of the texts.
    pub(super) fn counts(&self) -> (usize, u64, u64) {
        self.sources.iter().fold((0, 0, 0), |sum, source| {
            let (documents, texts, bytes) = match source {
                BlockSource::Block(block, _) => (block.documents, block.texts, block.text_bytes),
                BlockSource::File(file) => (file.len(), file.num_texts(), file.text_bytes()),
            };
            (sum.0 + documents, sum.1 + texts, sum.2 + bytes)
        })
    }

    /// Write the texts; return their number and their bytes. Without any text nothing is written.
    pub(super) fn write(&self, pages: &mut PageWriter, level: i32) -> Result<(u64, u64)> {
        let (_, texts, bytes) = self.counts();
        if texts == 0 {
            return Ok((0, 0));
        }
        if !self.dictionary.is_empty() {
            pages.plain().section(DICTIONARY, 0, self.dictionary)?;
        }
        let ready = encoding(self.dictionary, level)?;
        let table = pages.plain().stream(TEXTS, 0, |out| {
            let mut joined = Joined::new(out, ready.as_deref(), level)?;
            for source in &self.sources {
                match source {
                    BlockSource::Block(block, dictionary) => {
                        let own = std::ptr::eq(*dictionary, self.dictionary) || *dictionary == self.dictionary;
                        joined.add(block, own, decoding(dictionary)?.as_deref())?;
                    }
                    BlockSource::File(file) => {
                        with_sigbus_guard(Some(file.segment()), || joined.add_file(file, self.dictionary))?;
                    }
                }
            }
            joined.finish()
        })?;
        pages.array(BLOCKS, &table)?;
        Ok((texts, bytes))
    }
}

/// Decompressed texts.
struct Loose<'a>(&'a [Option<String>]);

impl TextSource for Loose<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn get(&self, i: usize) -> Option<&str> {
        self.0[i].as_deref()
    }
}

/// Writes blocks in order.
struct Joined<'s, 'w, 'd> {
    out: &'s mut Stream<'w>,
    encoder: Encoder<'d>,
    cancel: CancelToken,
    table: Vec<u64>,
    end: u64,
    /// Number of documents in the blocks written so far.
    documents: usize,
    /// Texts pending for a block, and their bytes.
    loose: Vec<Option<String>>,
    loose_bytes: usize,
}

impl<'s, 'w, 'd> Joined<'s, 'w, 'd> {
    fn new(out: &'s mut Stream<'w>, dictionary: Option<&'d CDict<'static>>, level: i32) -> Result<Self> {
        Ok(Self {
            out,
            encoder: Encoder::new(dictionary, level)?,
            cancel: CancelToken::current(),
            table: Vec::new(),
            end: 0,
            documents: 0,
            loose: Vec::new(),
            loose_bytes: 0,
        })
    }

    fn add_file(&mut self, file: &StoreSegment, dictionary: &[u8]) -> Result<()> {
        let Some(texts) = file.blocks() else {
            let waiting = self.loose.len() + file.len();
            alloc::try_resize(&mut self.loose, waiting, None)?;
            return self.write_loose(false);
        };
        let (own, decoder) = (texts.dictionary()? == dictionary, texts.decoder());
        texts.each(|documents, length, frame| {
            let block = Packed { documents, texts: 0, text_bytes: 0, length, frame };
            self.add(&block, own, decoder).map_err(|error| match error {
                Error::Corrupt { reason, .. } => file.segment().corrupt(reason),
                other => other,
            })
        })
    }

    /// Append a block; `own` if it has the dictionary of the file.
    fn add(&mut self, block: &Packed<&[u8]>, own: bool, decoder: Option<&DDict<'static>>) -> Result<()> {
        self.cancel.check()?;
        let copied = own && block.length >= SMALL;
        let joins = copied && !self.loose.is_empty() && self.loose_bytes < SMALL && block.length <= JOINED;
        if copied && !joins {
            self.write_loose(true)?;
            return self.write(block.documents, block.length, block.frame);
        }
        let texts = texts_of(block.frame, block.documents, block.length, decoder)?;
        self.loose_bytes += texts.iter().flatten().map(String::len).sum::<usize>();
        alloc::try_reserve(&mut self.loose, texts.len())?;
        self.loose.extend(texts);
        if joins { self.write_whole() } else { self.write_loose(false) }
    }

    /// Write all pending texts as one block.
    fn write_whole(&mut self) -> Result<()> {
        let loose = std::mem::take(&mut self.loose);
        self.loose_bytes = 0;
        self.write_texts(&Loose(&loose), 0..loose.len(), &mut Vec::new())
    }

    /// Write texts as one block; `bytes` has capacity for it.
    fn write_texts(&mut self, texts: &Loose<'_>, documents: Range<usize>, bytes: &mut Vec<u8>) -> Result<()> {
        assemble(texts, documents.clone(), bytes)?;
        let frame = self.encoder.encode(bytes)?;
        self.write(documents.len(), bytes.len(), &frame)
    }

    /// Write pending texts: `all`, or only those that fill blocks.
    fn write_loose(&mut self, all: bool) -> Result<()> {
        let mut loose = std::mem::take(&mut self.loose);
        let (mut first, mut bytes) = (0, Vec::new());
        loop {
            let block = cut(&Loose(&loose), first);
            // Texts that do not fill a block remain pending.
            if block.is_empty() || !(all || block.end < loose.len()) {
                break;
            }
            first = block.end;
            self.write_texts(&Loose(&loose), block, &mut bytes)?;
        }
        loose.drain(..first);
        self.loose_bytes = loose.iter().flatten().map(String::len).sum();
        self.loose = loose;
        Ok(())
    }

    fn write(&mut self, documents: usize, length: usize, frame: &[u8]) -> Result<()> {
        self.end += frame.len() as u64;
        alloc::try_reserve(&mut self.table, WORDS)?;
        self.table.extend([self.end, self.documents as u64 | (length as u64) << 32, xxh3_64(frame)]);
        self.documents += documents;
        self.out.append(frame)
    }

    fn finish(mut self) -> Result<Vec<u64>> {
        self.write_loose(true)?;
        debug_assert!(self.table.len().is_multiple_of(WORDS), "three words for each block");
        Ok(self.table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Segment, Writer};
    use crate::store::tests::Texts;

    /// Return a block of texts of a few KB each.
    fn block(sizes: &[usize], seed: u8) -> Packed<Vec<u8>> {
        let letter = |i: usize| char::from(b'a' + (i * i / 7 + usize::from(seed) * i) as u8 % 26);
        let texts = Texts(sizes.iter().map(|&size| Some((0..size << 10).map(letter).collect())).collect());
        let mut blocks = pack(&texts, 1, b"").expect("room");
        assert_eq!(1, blocks.len());
        blocks.remove(0)
    }

    /// Return the documents, uncompressed length and frame of each block of a file of these texts.
    fn written(blocks: &[Packed<Vec<u8>>], name: &str) -> Vec<(usize, usize, u64)> {
        let path = std::env::temp_dir().join(format!("nearkin-store-packed-{name}-{}", std::process::id()));
        let sources = blocks.iter().map(|&Packed { documents, texts, text_bytes, length, ref frame }| {
            BlockSource::Block(Packed { documents, texts, text_bytes, length, frame: frame.as_slice() }, b"".as_slice())
        });
        let packed = PackedTexts { dictionary: b"", sources: sources.collect() };
        let mut pages = PageWriter::new(Writer::create(&path, 11, 32).expect("writable"));
        packed.write(&mut pages, 1).expect("writable");
        pages.finish().expect("writable");
        let table = Segment::open(&path).expect("whole").column::<u64>(BLOCKS, 0).expect("a table").to_vec();
        std::fs::remove_file(&path).expect("there");
        let documents: usize = blocks.iter().map(|block| block.documents).sum();
        let firsts = table.chunks(WORDS).map(|words| words[1] as u32 as usize).chain([documents]).collect::<Vec<_>>();
        let counts = firsts.windows(2).map(|pair| pair[1] - pair[0]);
        counts.zip(table.chunks(WORDS)).map(|(count, words)| (count, (words[1] >> 32) as usize, words[2])).collect()
    }

    fn sum(block: &Packed<Vec<u8>>) -> (usize, usize, u64) {
        (block.documents, block.length, xxh3_64(&block.frame))
    }

    #[test]
    fn few_texts_join_the_next_block_and_those_after_it_are_copied() {
        let (few, full, other) = (block(&[1, 1], 1), block(&[5, 5, 5], 2), block(&[8, 8], 3));
        let found = written(&[few.clone(), full.clone(), other.clone(), full.clone()], "few");
        assert_eq!((5, 17 << 10), (found[0].0, found[0].1 - 10));
        assert_eq!([sum(&other), sum(&full)], found[1..]);
        // After the last block there is nothing to merge with.
        let found = written(&[full.clone(), few.clone()], "last");
        assert_eq!(vec![sum(&full), sum(&few)], found);
    }

    #[test]
    fn few_texts_before_a_long_one_are_a_block() {
        let (few, long) = (block(&[1], 1), block(&[100], 2));
        assert_eq!(vec![sum(&few), sum(&long)], written(&[few.clone(), long.clone()], "long"));
    }

    #[test]
    fn a_block_counts_its_texts() {
        let blocks = pack(&Texts::of(&["one", "three"]), 1, b"").expect("room");
        let [Packed { documents: 2, texts: 2, text_bytes: 8, length: 10, frame }] = &blocks[..] else {
            panic!("{blocks:?}")
        };
        assert_eq!(vec![Some("one".to_owned()), Some("three".to_owned())], unpack(frame, 2, 10, b"").expect("whole"));
        let error = unpack(frame, 2, 11, b"").expect_err("longer").to_string();
        assert!(error.contains("a block of texts") && error.contains("it holds 10 bytes and not 11"), "{error}");
        assert!(pack(&Texts::of(&[]), 1, b"").expect("room").is_empty());
    }
}
