//! Segments of a store: writing, opening, lookups and reading; precompressed blocks of texts.

use std::path::Path;

use nearkin_core::alloc;
use nearkin_core::store::{
    BlockSource, Documents, Id, IdColumn, Packed, PackedTexts, StoreSegment, TextColumn, pack, unpack, write,
};

use super::{File, attack, numbers};

const DOCUMENTS: usize = 20_000;

/// Return short texts, a long one among them, and none.
fn texts(count: usize) -> Texts {
    let mut texts: Vec<Option<String>> =
        numbers(count, 1).iter().map(|n| Some(format!("text {} of document {n}", n % 9))).collect();
    texts[7] = Some(numbers(20_000, 2).iter().map(u64::to_string).collect::<Vec<String>>().join(" "));
    texts[8] = None;
    Texts(texts)
}

struct Texts(Vec<Option<String>>);

impl nearkin_core::text::tokenizer::TextSource for Texts {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn get(&self, i: usize) -> Option<&str> {
        self.0[i].as_deref()
    }
}

/// The parts of a file.
struct Parts {
    rows: Vec<i64>,
    contents: Vec<u64>,
    records: Vec<u8>,
    extras: Vec<Vec<u8>>,
    texts: Texts,
}

impl Parts {
    fn new(count: usize) -> Self {
        // Many share one content, and rows are not consecutive.
        let contents = numbers(2 * count, 3).into_iter().enumerate().map(|(i, n)| if i < 30_000 { 7 } else { n });
        Self {
            rows: (0..count as i64).map(|row| 2 * row).collect(),
            contents: contents.collect(),
            records: vec![5; 8 * count],
            extras: (0..count).map(|place| vec![9; place % 5]).collect(),
            texts: texts(count),
        }
    }

    fn write(&self, path: &Path, ids: IdColumn<'_>) -> nearkin_core::Result<()> {
        let extras: Vec<&[u8]> = self.extras.iter().map(Vec::as_slice).collect();
        self.write_with(path, ids, &extras)
    }

    fn write_with(&self, path: &Path, ids: IdColumn<'_>, extras: &[&[u8]]) -> nearkin_core::Result<()> {
        let documents = Documents {
            rows: &self.rows,
            ids,
            contents: &self.contents,
            records: &self.records,
            width: 8,
            extras: Some(extras),
            texts: Some(TextColumn::Plain(&self.texts)),
        };
        write(path, &documents, b"a note", 1)
    }
}

/// A file of one document, which the test replaces.
fn write_one(path: &Path) {
    let documents = Documents {
        rows: &[3],
        ids: IdColumn::Ints(&[3]),
        contents: &[1, 2],
        records: &[4],
        width: 1,
        extras: None,
        texts: None,
    };
    write(path, &documents, b"", 1).expect("writable");
}

/// A file of documents with blocks of texts, or without texts.
fn write_packed(path: &Path, rows: &[i64], texts: Option<&PackedTexts<'_>>) -> nearkin_core::Result<()> {
    let contents = alloc::try_filled(7, 2 * rows.len())?;
    let documents = Documents {
        rows,
        ids: IdColumn::Ints(rows),
        contents: &contents,
        records: &[],
        width: 0,
        extras: None,
        texts: texts.map(TextColumn::Packed),
    };
    write(path, &documents, b"a note", 1)
}

#[test]
fn store_files_are_written_whole() {
    let parts = Parts::new(DOCUMENTS);
    let extras: Vec<&[u8]> = parts.extras.iter().map(Vec::as_slice).collect();
    let names: Vec<String> = (0..DOCUMENTS).map(|place| format!("id {place}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mixed: Vec<Id<'_>> = (0..DOCUMENTS)
        .map(|place| if place % 2 == 0 { Id::Int(place as i64) } else { Id::Name(names[place]) })
        .collect();
    let file = File::new();
    let len = |(): &()| StoreSegment::open(&file.0).expect("whole").len();
    for (name, ids) in [
        ("integers", IdColumn::Ints(&parts.rows)),
        ("names", IdColumn::Names(&names)),
        ("both", IdColumn::Mixed(&mixed)),
    ] {
        attack(
            &format!("store write: {name}"),
            || write_one(&file.0),
            len,
            |()| parts.write_with(&file.0, ids, &extras),
        );
    }
}

#[test]
fn store_files_are_read() {
    let parts = Parts::new(DOCUMENTS);
    let names: Vec<String> = (0..DOCUMENTS).map(|place| format!("id {place}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let file = File::new();
    parts.write(&file.0, IdColumn::Names(&names)).expect("writable");
    let open = || StoreSegment::open(&file.0).expect("whole");
    let places: Vec<i64> = (0..DOCUMENTS as i64).collect();
    let state = |segment: &StoreSegment| segment.texts(&[0, 8, 7]).expect("there is memory");
    // A small file is read into memory.
    let (some, small) = (Parts::new(2000), File::new());
    some.write(&small.0, IdColumn::Ints(&some.rows)).expect("writable");
    attack("store open", || (), |()| (), |()| Ok(StoreSegment::open(&small.0)?.len()));
    attack("store verify", open, state, |segment| segment.verify());
    attack("store rows", open, state, |segment| segment.rows(0, DOCUMENTS));
    attack("store positions", open, state, |segment| segment.positions(&parts.rows));
    attack("store contents found", open, state, |segment| segment.find_contents(&parts.contents[29_900..]));
    attack("store ids found", open, state, |segment| segment.find_ids(IdColumn::Names(&names)));
    attack("store records", open, state, |segment| segment.records(&places));
    attack("store contents", open, state, |segment| segment.contents(&places));
    attack("store ids", open, state, |segment| Ok(segment.ids(&places)?.len()));
    attack("store extras", open, state, |segment| Ok(segment.extras(&places)?.len()));
    attack("store texts", open, state, |segment| segment.texts(&places));
}

#[test]
fn packed_texts_are_refused_and_given() {
    let texts = texts(DOCUMENTS);
    let blocks = pack(&texts, 1, b"text of document").expect("there is memory");
    attack("pack", || (), |()| (), |()| pack(&texts, 1, b"text of document"));
    let long = blocks.iter().find(|block| block.length > 1 << 17).expect("a long text");
    attack("unpack", || (), |()| (), |()| unpack(&long.frame, long.documents, long.length, b"text of document"));
}

#[test]
fn packed_texts_become_files_that_are_whole() {
    let parts = Parts::new(DOCUMENTS);
    let texts = Texts(parts.texts.0[..DOCUMENTS / 2].to_vec());
    // Half of the documents are in blocks with another dictionary, which must be recompressed; half in a file without
    // texts.
    let blocks = pack(&texts, 1, b"text of document").expect("there is memory");
    let (file, without) = (File::new(), File::new());
    write_packed(&without.0, &parts.rows[..DOCUMENTS / 2], None).expect("writable");
    let other = StoreSegment::open(&without.0).expect("whole");
    let packed = || {
        let mut parts = Vec::new();
        for &Packed { documents, texts, text_bytes, length, ref frame } in &blocks {
            let block = Packed { documents, texts, text_bytes, length, frame: frame.as_slice() };
            parts.push(BlockSource::Block(block, b"text of document".as_slice()));
        }
        parts.push(BlockSource::File(&other));
        PackedTexts { dictionary: &[], sources: parts }
    };
    let len = |(): &()| StoreSegment::open(&file.0).expect("whole").len();
    attack("store write: packed", || write_one(&file.0), len, |()| write_packed(&file.0, &parts.rows, Some(&packed())));
    let written = StoreSegment::open(&file.0).expect("whole");
    assert_eq!(texts.0[..9], written.texts(&(0..9).collect::<Vec<i64>>()).expect("there is memory"));
}
