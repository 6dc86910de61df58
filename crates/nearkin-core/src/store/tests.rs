//! Store segments against a plain list; every damaged bit and length; inconsistent arrays.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;
use crate::Error;
use crate::segment::{Segment, with_sigbus_guard};
use crate::text::tokenizer::TextSource;

fn path() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("nearkin-store-{}-{number}", std::process::id()))
}

/// Texts in memory.
pub(super) struct Texts(pub(super) Vec<Option<String>>);

impl Texts {
    /// Create the texts of all documents.
    pub(super) fn of(texts: &[&str]) -> Self {
        Self(texts.iter().map(|&text| Some(text.to_owned())).collect())
    }
}

impl TextSource for Texts {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn get(&self, i: usize) -> Option<&str> {
        self.0[i].as_deref()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Key {
    Int(i64),
    Name(String),
}

impl Key {
    fn id(&self) -> Id<'_> {
        match self {
            Self::Int(id) => Id::Int(*id),
            Self::Name(id) => Id::Name(id),
        }
    }
}

/// A document of the plain list.
#[derive(Debug, Clone)]
struct Doc {
    row: i64,
    id: Key,
    content: [u64; 2],
    extra: Vec<u8>,
    text: Option<String>,
}

const WIDTH: usize = 3;

fn record(doc: &Doc) -> [u8; WIDTH] {
    [doc.row as u8, doc.content[0] as u8, 7]
}

fn save(path: &Path, docs: &[Doc]) -> crate::Result<()> {
    let rows: Vec<i64> = docs.iter().map(|doc| doc.row).collect();
    let ids: Vec<Id<'_>> = docs.iter().map(|doc| doc.id.id()).collect();
    let contents: Vec<u64> = docs.iter().flat_map(|doc| doc.content).collect();
    let records: Vec<u8> = docs.iter().flat_map(record).collect();
    let extras: Vec<&[u8]> = docs.iter().map(|doc| &doc.extra[..]).collect();
    let texts = Texts(docs.iter().map(|doc| doc.text.clone()).collect());
    let documents = Documents {
        rows: &rows,
        ids: IdColumn::Mixed(&ids),
        contents: &contents,
        records: &records,
        width: WIDTH,
        extras: Some(&extras),
        texts: Some(TextColumn::Plain(&texts)),
    };
    write(path, &documents, b"{}", 3)
}

/// Results of every lookup for `docs` and some others, or the first error.
type Answers = (Vec<u8>, Vec<Vec<i64>>, Vec<Vec<i64>>, Vec<i64>, Vec<i64>, Vec<Key>, Vec<Vec<u8>>, Vec<Option<String>>);

/// Return the rows of each lookup.
fn lists((offsets, rows): (Vec<i64>, Vec<i64>)) -> Vec<Vec<i64>> {
    offsets.windows(2).map(|ends| rows[ends[0] as usize..ends[1] as usize].to_vec()).collect()
}

fn lookup_keys(docs: &[Doc]) -> (Vec<u64>, Vec<Key>, Vec<i64>) {
    let contents = docs.iter().flat_map(|doc| doc.content).chain([3, 4, 0, 0, u64::MAX, u64::MAX]).collect();
    let ids = docs.iter().map(|doc| doc.id.clone());
    let ids = ids.chain([Key::Int(1), Key::Name("1".into()), Key::Name(String::new()), Key::Int(i64::MIN)]).collect();
    let rows = docs.iter().map(|doc| doc.row).chain([-1, 0, 5, i64::MAX, i64::MIN]).collect();
    (contents, ids, rows)
}

fn answers(path: &Path, docs: &[Doc]) -> crate::Result<Answers> {
    let file = StoreSegment::open(path)?;
    with_sigbus_guard(Some(file.segment()), || {
        let (contents, ids, rows) = lookup_keys(docs);
        let ids: Vec<Id<'_>> = ids.iter().map(Key::id).collect();
        let positions: Vec<i64> = (0..file.len() as i64).rev().collect();
        let key = |id: Id<'_>| match id {
            Id::Int(id) => Key::Int(id),
            Id::Name(id) => Key::Name(id.to_owned()),
        };
        let mut plain = file.rows(0, usize::MAX)?;
        plain.extend(file.contents(&positions)?.into_iter().map(|word| word as i64));
        let mut bytes = file.note()?;
        bytes.extend(file.records(&positions)?);
        Ok((
            bytes,
            lists(file.find_contents(&contents)?),
            lists(file.find_ids(IdColumn::Mixed(&ids))?),
            file.positions(&rows)?,
            plain,
            file.ids(&positions)?.into_iter().map(key).collect(),
            file.extras(&positions)?.into_iter().map(<[u8]>::to_vec).collect(),
            file.texts(&positions)?,
        ))
    })
}

/// Return the same results from the list.
fn expected(docs: &[Doc]) -> Answers {
    let (contents, ids, rows) = lookup_keys(docs);
    let having = |test: &dyn Fn(&Doc) -> bool| docs.iter().filter(|doc| test(doc)).map(|doc| doc.row).collect();
    let mut plain: Vec<i64> = docs.iter().map(|doc| doc.row).collect();
    plain.extend(docs.iter().rev().flat_map(|doc| doc.content).map(|word| word as i64));
    (
        b"{}".iter().copied().chain(docs.iter().rev().flat_map(record)).collect(),
        contents.chunks(2).map(|content| having(&|doc| doc.content == content)).collect(),
        ids.iter().map(|id| having(&|doc| doc.id == *id)).collect(),
        rows.iter().map(|row| docs.iter().position(|doc| doc.row == *row).map_or(-1, |at| at as i64)).collect(),
        plain,
        docs.iter().rev().map(|doc| doc.id.clone()).collect(),
        docs.iter().rev().map(|doc| doc.extra.clone()).collect(),
        docs.iter().rev().map(|doc| doc.text.clone()).collect(),
    )
}

fn keys() -> impl Strategy<Value = Key> {
    prop_oneof![
        (0..4_i64).prop_map(Key::Int),
        any::<i64>().prop_map(Key::Int),
        "[0-3]?".prop_map(Key::Name),
        any::<String>().prop_map(Key::Name),
    ]
}

fn documents(max_docs: usize) -> impl Strategy<Value = Vec<Doc>> {
    let kinds = prop_oneof![Just(0), Just(1), Just(2)];
    let doc = (
        1..3_i64,
        keys(),
        prop_oneof![
            any::<[u64; 2]>(),
            [0..3_u64, 0..3_u64],
            (Just(u64::MAX), any::<u64>()).prop_map(|(first, second)| [first, second])
        ],
        prop::collection::vec(any::<u8>(), 0..5),
        prop_oneof![
            Just(None),
            any::<String>().prop_map(Some),
            (0..40_000_usize).prop_map(|length| Some("wörter ".repeat(length / 8)))
        ],
    );
    (kinds, any::<bool>(), any::<bool>(), prop::collection::vec(doc, 0..max_docs)).prop_map(
        |(kind, consecutive, without, docs)| {
            let mut row = -1;
            let doc = |(step, id, content, extra, text): (i64, Key, [u64; 2], Vec<u8>, Option<String>)| {
                row += if consecutive { 1 } else { step };
                let id = match (kind, id) {
                    (0, Key::Name(id)) => Key::Int(id.len() as i64),
                    (1, Key::Int(id)) => Key::Name(id.to_string()),
                    (_, id) => id,
                };
                let extra = if without { Vec::new() } else { extra };
                Doc { row, id, content, extra, text: text.filter(|_| !without) }
            };
            docs.into_iter().map(doc).collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_file_answers_as_the_list_does(docs in documents(60)) {
        let path = path();
        save(&path, &docs).expect("writable");
        prop_assert_eq!(expected(&docs), answers(&path, &docs).expect("whole"));
        let file = StoreSegment::open(&path).expect("whole");
        file.verify().expect("whole");
        Segment::open(&path).expect("whole").verify().expect("whole");
        let bytes = std::fs::read(&path).expect("there");
        let again = super::tests::path();
        // Within a pool or without one, and with any number of threads.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
        pool.install(|| save(&again, &docs)).expect("writable");
        prop_assert_eq!(bytes, std::fs::read(&again).expect("there"));
        prop_assert_eq!(expected(&docs), pool.install(|| answers(&again, &docs)).expect("whole"));
        pool.install(|| file.verify()).expect("whole");
        for path in [path, again] {
            std::fs::remove_file(path).expect("there");
        }
    }

    #[test]
    fn blocks_of_texts_come_back(texts in prop::collection::vec(prop::option::of(any::<String>()), 0..80), level in 1..10_i32) {
        let dictionary =
            compress::train(&Texts(vec![Some("some words of a dictionary".into()); 50]), 1 << 10).expect("sound");
        for dictionary in [&[][..], &dictionary] {
            let blocks = pack(&Texts(texts.clone()), level, dictionary).expect("sound");
            let texts_of = |block: &Packed<Vec<u8>>| {
                unpack(&block.frame, block.documents, block.length, dictionary).expect("sound")
            };
            prop_assert_eq!(&texts, &blocks.iter().flat_map(texts_of).collect::<Vec<_>>());
            prop_assert_eq!(texts.iter().flatten().count() as u64, blocks.iter().map(|block| block.texts).sum::<u64>());
        }
    }

    #[test]
    fn hostile_bytes_under_right_checksums_end_in_errors(
        docs in documents(12),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let path = path();
        save(&path, &docs).expect("writable");
        let mut bytes = std::fs::read(&path).expect("there");
        let head = 64 + 40 * usize::from(bytes[16]);
        for (at, byte) in edits {
            let at = head + at.index(bytes.len() - head);
            bytes[at] = byte;
        }
        mend(&mut bytes);
        std::fs::write(&path, &bytes).expect("writable");
        if let Err(error) = answers(&path, &docs) {
            let message = error.to_string();
            prop_assert!(matches!(error, Error::Corrupt { .. }) && !message.contains("arrays do not hold"), "{}", message);
        }
        let verified = StoreSegment::open(&path).and_then(|file| file.verify());
        prop_assert!(matches!(verified, Ok(()) | Err(Error::Corrupt { .. })), "an error of damage");
        std::fs::remove_file(&path).expect("there");
    }

    #[test]
    fn any_bytes_are_no_text(frame in prop::collection::vec(any::<u8>(), 0..200), head in any::<bool>()) {
        let frame = if head { [&[0x28, 0xb5, 0x2f, 0xfd][..], &frame].concat() } else { frame };
        if let Err(error) = unpack(&frame, 2, 300, b"") {
            prop_assert!(matches!(error, Error::Corrupt { .. }), "an error of damage");
        }
    }
}

/// Return a few documents with every kind of value.
fn few() -> Vec<Doc> {
    let doc = |row, id, content, extra: &[u8], text: Option<&str>| Doc {
        row,
        id,
        content,
        extra: extra.to_vec(),
        text: text.map(str::to_owned),
    };
    vec![
        doc(2, Key::Int(1), [7, 8], b"", Some("a text")),
        doc(3, Key::Name("1".into()), [7, 8], b"extra", None),
        doc(9, Key::Name("é".into()), [1 << 63, 0], b"", Some("")),
        doc(10, Key::Int(1), [5, 5], b"\0", Some("another text")),
    ]
}

#[test]
fn every_flipped_bit_is_found_or_changes_no_answer() {
    let (path, docs) = (path(), few());
    save(&path, &docs).expect("writable");
    let (whole, right) = (std::fs::read(&path).expect("there"), expected(&docs));
    let mut silent = 0;
    for bit in 0..8 * whole.len() {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bytes).expect("writable");
        match answers(&path, &docs) {
            Ok(found) => {
                assert_eq!(right, found, "bit {bit}");
                StoreSegment::open(&path).and_then(|file| file.verify()).expect("only what nobody reads");
                silent += 1;
            }
            Err(Error::Corrupt { place: position, reason }) => {
                assert_eq!(path.display().to_string(), position);
                assert!(!reason.contains("arrays do not hold together"), "bit {bit}: {reason}");
            }
            Err(Error::FormatVersion { .. }) => {}
            Err(other) => panic!("bit {bit}: {other}"),
        }
    }
    // Only the zeros between sections may change undetected.
    assert!(silent < 8 * 64 * 40, "{silent} of {}", 8 * whole.len());
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn every_other_length_is_refused() {
    let (path, docs) = (path(), few());
    save(&path, &docs).expect("writable");
    let whole = std::fs::read(&path).expect("there");
    for length in (0..whole.len()).chain([whole.len() + 1, whole.len() + 64]) {
        let mut bytes = whole.clone();
        bytes.resize(length, 0);
        std::fs::write(&path, &bytes).expect("writable");
        assert!(matches!(StoreSegment::open(&path).err(), Some(Error::Corrupt { .. })), "{length}");
    }
    std::fs::remove_file(&path).expect("there");
}

/// Return the file of `few` with every word (4 bytes, aligned) replaced by extremes and all checksums corrected.
#[test]
fn hostile_words_under_right_checksums_end_in_errors() {
    let (path, docs) = (path(), few());
    save(&path, &docs).expect("writable");
    let whole = std::fs::read(&path).expect("there");
    let head = 64 + 40 * u32::from_le_bytes(whole[16..20].try_into().expect("four bytes")) as usize;
    let mut refused = 0;
    for at in (head..whole.len()).step_by(4) {
        for word in [0, 1, 5, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            mend(&mut bytes);
            std::fs::write(&path, &bytes).expect("writable");
            let verified = StoreSegment::open(&path).and_then(|file| file.verify());
            match answers(&path, &docs) {
                Err(Error::Corrupt { reason, .. }) => {
                    assert!(!reason.contains("arrays do not hold together"), "{at}: {word:x}: {reason}");
                    refused += 1;
                }
                Err(other) => panic!("{at}: {word:x}: {other}"),
                Ok(_) => {}
            }
            assert!(matches!(verified, Ok(()) | Err(Error::Corrupt { .. })), "{at}: {word:x}");
        }
    }
    assert!(refused > 100, "{refused}");
    std::fs::remove_file(&path).expect("there");
}

/// Correct the checksums of pages, then of sections, then of the header.
fn mend(bytes: &mut [u8]) {
    use xxhash_rust::xxh3::xxh3_64;
    let long = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let int = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let head = 64 + 40 * int(bytes, 16) as usize;
    let sections: Vec<_> = (64..head)
        .step_by(40)
        .map(|at| {
            let (offset, size) = (long(bytes, at + 8) as usize, long(bytes, at + 16) as usize);
            (at, int(bytes, at), int(bytes, at + 4), offset..offset + size)
        })
        .collect();
    // The table determines the number of blocks and where they begin.
    let range = |tag, number| sections.iter().find(|s| (s.1, s.2) == (tag, number)).map(|s| s.3.clone());
    if let (Some(table), Some(texts)) = (range(tags::BLOCKS, 0), range(tags::TEXTS, 0)) {
        let mut begin = 0;
        for at in table.step_by(24) {
            let end = long(bytes, at) as usize;
            if let Some(sum) = bytes[texts.clone()].get(begin..end).map(xxh3_64) {
                bytes[at + 16..at + 24].copy_from_slice(&sum.to_le_bytes());
            }
            begin = end;
        }
    }
    for (_, tag, number, sums) in &sections {
        if *tag != tags::SUMS {
            continue;
        }
        let pages = range(*number, 0).expect("a section of these sums");
        for (page, at) in pages.clone().step_by(pages::PAGE).zip(sums.clone().step_by(8)) {
            let sum = xxh3_64(&bytes[page..pages.end.min(page + pages::PAGE)]);
            bytes[at..at + 8].copy_from_slice(&sum.to_le_bytes());
        }
    }
    for (at, _, _, range) in sections {
        let sum = xxh3_64(&bytes[range]);
        bytes[at + 24..at + 32].copy_from_slice(&sum.to_le_bytes());
    }
    bytes[56..64].fill(0);
    let sum = xxh3_64(&bytes[..head]);
    bytes[56..64].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn many_texts_share_a_dictionary_and_blocks() {
    let mut state = 7_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ["hash", "of", "a", "document", "near", "copy", "the", "store", "keeps", "text"][(state >> 33) as usize % 10]
    };
    let mut docs: Vec<Doc> = (0..3000)
        .map(|row| Doc {
            row,
            id: Key::Int(-row),
            content: [row as u64 / 2, 0],
            extra: Vec::new(),
            text: Some((0..100).map(|_| word()).collect::<Vec<_>>().join(" ")),
        })
        .collect();
    docs[5].text = Some("long ".repeat(100_000));
    docs[6].text = None;
    let path = path();
    save(&path, &docs).expect("writable");
    let file = StoreSegment::open(&path).expect("whole");
    file.verify().expect("whole");
    assert_eq!(expected(&docs), answers(&path, &docs).expect("whole"));
    let sizes: std::collections::HashMap<_, _> = file.sizes().into_iter().collect();
    assert_eq!(docs.iter().filter_map(|doc| doc.text.as_ref()).count() as u64, sizes["num_texts"]);
    assert!(sizes["texts"] * 2 < sizes["text_bytes"], "{sizes:?}");
    assert_eq!(0, sizes["extras"] + sizes["rows"]);
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn arguments_that_do_not_go_together_are_refused_and_leave_no_file() {
    let path = path();
    let texts = Texts(vec![None; 3]);
    let good = || Documents {
        rows: &[1, 2],
        ids: IdColumn::Ints(&[5, 6]),
        contents: &[0; 4],
        records: &[0; 2],
        width: 1,
        extras: None,
        texts: None,
    };
    let bad = [
        Documents { rows: &[2, 1], ..good() },
        Documents { rows: &[1, 1], ..good() },
        Documents { rows: &[-1, 1], ..good() },
        Documents { ids: IdColumn::Names(&["a"]), ..good() },
        Documents { contents: &[0; 3], ..good() },
        Documents { records: &[0; 3], ..good() },
        Documents { width: usize::MAX, ..good() },
        Documents { extras: Some(&[b""]), ..good() },
        Documents { texts: Some(TextColumn::Plain(&texts)), ..good() },
    ];
    for documents in bad {
        assert!(matches!(write(&path, &documents, b"", 3), Err(Error::Parameter { .. })));
    }
    for level in [0, 20, -1] {
        assert!(matches!(write(&path, &good(), b"", level), Err(Error::Parameter { name: "level", .. })));
    }
    assert!(!path.exists());
    write(&path, &good(), b"", 3).expect("sound");
    let file = StoreSegment::open(&path).expect("whole");
    for position in [-1, 2, i64::MAX] {
        assert!(matches!(file.texts(&[position]), Err(Error::Parameter { name: "places", .. })));
        assert!(matches!(file.records(&[0, position]), Err(Error::Parameter { name: "places", .. })));
    }
    assert!(matches!(file.find_contents(&[1]), Err(Error::Parameter { name: "contents", .. })));
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn a_stopped_call_writes_nothing() {
    let path = path();
    let cancel = crate::cancel::CancelToken::new();
    cancel.set();
    assert!(matches!(cancel.within(|| save(&path, &few())), Err(Error::Cancelled)));
    assert!(!path.exists());
    save(&path, &few()).expect("writable");
    let file = StoreSegment::open(&path).expect("whole");
    assert!(matches!(cancel.within(|| file.verify()), Err(Error::Cancelled)));
    assert!(matches!(cancel.within(|| file.texts(&[0])), Err(Error::Cancelled)));
    std::fs::remove_file(&path).expect("there");
}

#[test]
fn a_length_that_a_frame_can_not_hold_is_refused() {
    let texts = Texts(vec![Some("0".repeat(1 << 20))]);
    let packed = pack(&texts, 3, b"").expect("sound");
    let [block] = &packed[..] else { panic!("one block") };
    assert_eq!((1, 1, 1 << 20), (block.documents, block.texts, block.text_bytes));
    assert_eq!(texts.0, unpack(&block.frame, 1, block.length, b"").expect("whole"));
    for length in [block.length - 1, block.length + 1, usize::MAX] {
        assert!(matches!(unpack(&block.frame, 1, length, b""), Err(Error::Corrupt { .. })));
    }
    // A frame of one segment whose header declares 2^62 bytes.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    bomb.extend((1_u64 << 62).to_le_bytes());
    bomb.extend([1, 0, 0]);
    let error = unpack(&bomb, 1, 1 << 62, b"").expect_err("impossible").to_string();
    assert!(error.contains("which is impossible"), "{error}");
    for (level, dictionary) in [(0, &b""[..]), (3, &[0x37, 0xa4, 0x30, 0xec, 1, 2, 3, 4, 5, 6, 7, 8])] {
        assert!(matches!(pack(&texts, level, dictionary), Err(Error::Parameter { .. })));
    }
    assert!(matches!(compress::train(&texts, 1), Err(Error::Parameter { .. })));
    assert!(compress::train(&Texts(Vec::new()), 1 << 12).expect("sound").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn blocks_that_were_compressed_before_hold_the_same_texts(
        batches in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.8, (0_usize..3, 0_usize..9000)), 0..40), 0..9),
        how in prop::collection::vec(0_u8..4, 9),
    ) {
        let words = ["a store of many pages ", "is this document new? ", "0123456789abcdef "];
        let text = |&(word, size): &(usize, usize)| words[word].repeat(size / words[word].len() + 1);
        let batches: Vec<Texts> =
            batches.iter().map(|batch| Texts(batch.iter().map(|made| made.as_ref().map(text)).collect())).collect();
        let learned = compress::train(&Texts(vec![Some(words.concat()); 500]), 1 << 10).expect("sound");
        // Blocks with the dictionary of the file, without one, and complete files of both kinds.
        let packed: Vec<_> = batches
            .iter()
            .zip(&how)
            .map(|(batch, how)| pack(batch, 1, if how % 2 == 0 { &learned } else { b"" }).expect("sound"))
            .collect();
        let files: Vec<(PathBuf, StoreSegment)> = packed
            .iter()
            .zip(&how)
            .map(|(blocks, how)| {
                let dictionary = if how % 2 == 0 { &learned[..] } else { b"" };
                let sources = blocks.iter().map(|block| BlockSource::Block(borrowed(block), dictionary)).collect();
                let path = path();
                save_packed(&path, &PackedTexts { dictionary, sources }).expect("writable");
                let file = StoreSegment::open(&path).expect("whole");
                (path, file)
            })
            .collect();
        let mut sources = Vec::new();
        for ((blocks, (_, file)), how) in packed.iter().zip(&files).zip(&how) {
            if *how < 2 {
                let dictionary = if how % 2 == 0 { &learned[..] } else { b"" };
                sources.extend(blocks.iter().map(|block| BlockSource::Block(borrowed(block), dictionary)));
            } else {
                sources.push(BlockSource::File(file));
            }
        }
        let path = path();
        save_packed(&path, &PackedTexts { dictionary: &learned, sources }).expect("writable");
        let all: Vec<Option<String>> = batches.iter().flat_map(|batch| batch.0.clone()).collect();
        let file = StoreSegment::open(&path).expect("whole");
        file.verify().expect("whole");
        prop_assert_eq!(&all, &file.texts(&(0..all.len() as i64).collect::<Vec<_>>()).expect("whole"));
        drop(file);
        for path in files.into_iter().map(|(path, _)| path).chain([path]) {
            std::fs::remove_file(&path).expect("there");
        }
    }
}

fn borrowed(block: &Packed<Vec<u8>>) -> Packed<&[u8]> {
    let Packed { documents, texts, text_bytes, length, ref frame } = *block;
    Packed { documents, texts, text_bytes, length, frame }
}

/// Write documents that only have texts.
fn save_packed(path: &Path, texts: &PackedTexts<'_>) -> crate::Result<()> {
    let texts = TextColumn::Packed(texts);
    let rows: Vec<i64> = (0..texts.len() as i64).collect();
    let contents = vec![0; 2 * rows.len()];
    let (ids, extras) = (IdColumn::Ints(&rows), None);
    let documents =
        Documents { rows: &rows, ids, contents: &contents, records: &[], width: 0, extras, texts: Some(texts) };
    write(path, &documents, b"{}", 3)
}

#[test]
fn small_blocks_are_joined_and_large_ones_are_copied() {
    let doc = |number: usize| Texts(vec![Some(format!("text {number} ").repeat(100))]);
    let small: Vec<_> = (0..100).map(|number| pack(&doc(number), 3, b"").expect("sound").remove(0)).collect();
    let large = pack(&Texts((0..100).map(|number| doc(number).0.remove(0)).collect()), 3, b"").expect("sound");
    let count = |blocks: &[Packed<Vec<u8>>]| {
        let path = path();
        let sources = blocks.iter().map(|block| BlockSource::Block(borrowed(block), &b""[..])).collect();
        save_packed(&path, &PackedTexts { dictionary: b"", sources }).expect("writable");
        let sections = Segment::open(&path).expect("whole").column::<u64>(tags::BLOCKS, 0).expect("a table").to_vec();
        std::fs::remove_file(&path).expect("there");
        sections.chunks(3).map(|words| words[2]).collect::<Vec<_>>()
    };
    let sums: Vec<u64> = large.iter().map(|block| xxhash_rust::xxh3::xxh3_64(&block.frame)).collect();
    assert!(count(&small).len() <= large.len() + 1);
    assert_eq!(sums, count(&large));
}
