//! Store files: `StoreSegment`, a file of documents, and compressed blocks of texts for the log.
//!
//! A file does not change while it is open, so there is no lock: readers share it, also in a forked child.

use std::collections::BTreeMap;
use std::path::PathBuf;

use nearkin_core::alloc;
use nearkin_core::hash::xxh3;
use nearkin_core::segment::with_sigbus_guard;
use nearkin_core::store::{self, BlockSource, Documents, Id, IdColumn, Packed, PackedTexts, TextColumn};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::convert::texts::Texts;
use crate::convert::{Array, Slice, pair};
use crate::errors::IntoPython;
use crate::index::{self, Key};
use crate::threads::detached;

/// Maximum number of lookups, or texts, for the calling thread: waking the pool takes as long.
const FEW: usize = 256;
/// Maximum number of texts that the calling thread decompresses.
const FEW_TEXTS: usize = 4;

/// Ids from Python.
#[derive(FromPyObject)]
enum Ids<'py> {
    Uniform(index::Ids<'py>),
    Mixed(Vec<Key>),
}

/// The same without Python.
enum IdView<'a> {
    Uniform(index::IdView<'a>),
    Mixed(Vec<Id<'a>>),
}

impl Ids<'_> {
    fn view(&self) -> IdView<'_> {
        let id = |key| match key {
            &Key::Int(id) => Id::Int(id),
            Key::Name(id) => Id::Name(id),
        };
        match self {
            Self::Uniform(ids) => IdView::Uniform(ids.view()),
            Self::Mixed(ids) => IdView::Mixed(ids.iter().map(id).collect()),
        }
    }
}

impl IdView<'_> {
    fn column(&self) -> IdColumn<'_> {
        match self {
            Self::Uniform(index::IdView::Ints(ids)) => IdColumn::Ints(ids),
            Self::Uniform(index::IdView::Names(ids)) => IdColumn::Names(ids),
            Self::Mixed(ids) => IdColumn::Mixed(ids),
        }
    }
}

/// An id for Python.
#[derive(IntoPyObject)]
enum PyId {
    Int(i64),
    Name(String),
}

/// Precompressed blocks of texts.
#[derive(FromPyObject)]
enum PackedSource {
    /// All blocks of a file.
    File(Py<StoreSegment>),
    /// Number of documents, number of texts, their bytes, uncompressed length, frame, dictionary.
    Block((usize, u64, u64, usize, PyBackedBytes, PyBackedBytes)),
}

impl PackedSource {
    fn view(&self) -> BlockSource<'_> {
        match self {
            Self::File(file) => BlockSource::File(&file.get().0),
            Self::Block((documents, texts, text_bytes, length, frame, dictionary)) => {
                let (documents, texts, text_bytes, length) = (*documents, *texts, *text_bytes, *length);
                BlockSource::Block(Packed { documents, texts, text_bytes, length, frame: &**frame }, dictionary)
            }
        }
    }
}

/// Documents of a store in a file.
#[pyclass(frozen, module = "nearkin._core")]
struct StoreSegment(store::StoreSegment);

impl StoreSegment {
    /// Call `work` with the file: in the pool if it is `worth` it, otherwise in the calling thread.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        worth: bool,
        work: impl FnOnce(&store::StoreSegment) -> nearkin_core::Result<T> + Send,
    ) -> PyResult<T> {
        let work = || with_sigbus_guard(Some(self.0.segment()), || work(&self.0));
        if worth { detached(py, work) } else { py.detach(work).into_python() }
    }
}

#[pymethods]
impl StoreSegment {
    /// Write documents, in order of their rows, with their texts; or with `packed`, a dictionary and blocks of texts.
    #[staticmethod]
    #[pyo3(signature = (path, rows, ids, contents, records, width, extras, texts, note, level, packed=None))]
    fn write(
        py: Python<'_>,
        path: PathBuf,
        rows: Slice<i64>,
        ids: Ids<'_>,
        contents: Slice<u64>,
        records: Slice<u8>,
        width: usize,
        extras: Option<Vec<PyBackedBytes>>,
        texts: Option<&Bound<'_, PyAny>>,
        note: &[u8],
        level: i32,
        packed: Option<(PyBackedBytes, Vec<PackedSource>)>,
    ) -> PyResult<()> {
        let ids = ids.view();
        let extras: Option<Vec<&[u8]>> = extras.as_ref().map(|extras| extras.iter().map(|extra| &**extra).collect());
        let texts = texts.map(Texts::new).transpose()?;
        let packed = packed.as_ref().map(|(dictionary, sources)| PackedTexts {
            dictionary,
            sources: sources.iter().map(PackedSource::view).collect(),
        });
        let plain = texts.as_ref().map(|texts| TextColumn::Plain(texts));
        let documents = Documents {
            rows: &rows,
            ids: ids.column(),
            contents: &contents,
            records: &records,
            width,
            extras: extras.as_deref(),
            texts: packed.as_ref().map(TextColumn::Packed).or(plain),
        };
        detached(py, || store::write(&path, &documents, note, level))
    }

    /// Open a file; its contents are read on use.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| store::StoreSegment::open(&path)).map(Self).into_python()
    }

    /// Return the dictionary of its texts, empty for none.
    fn dictionary(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        self.read(py, false, store::StoreSegment::dictionary).map(|bytes| PyBytes::new(py, &bytes).unbind())
    }

    /// Return the writer's description.
    fn note(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        self.read(py, false, store::StoreSegment::note).map(|bytes| PyBytes::new(py, &bytes).unbind())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Return the bytes on disk per component, the number of texts and their uncompressed size.
    fn sizes(&self) -> BTreeMap<&'static str, u64> {
        self.0.sizes().into_iter().collect()
    }

    /// Return the rows of the positions from `start` to `stop`.
    fn rows(&self, py: Python<'_>, start: usize, stop: usize) -> PyResult<Array<i64>> {
        self.read(py, false, |segment| segment.rows(start, stop)).map(Array)
    }

    /// Return the position of each row, or -1.
    fn places(&self, py: Python<'_>, rows: Slice<i64>) -> PyResult<Array<i64>> {
        self.read(py, false, |segment| segment.positions(&rows)).map(Array)
    }

    /// Return offsets, and the rows that have each content.
    fn find_contents(&self, py: Python<'_>, contents: Slice<u64>) -> PyResult<(Array<i64>, Array<i64>)> {
        self.read(py, contents.len() > 2 * FEW, |segment| segment.find_contents(&contents)).map(pair)
    }

    /// Return offsets, and the rows that have each id.
    fn find_ids(&self, py: Python<'_>, ids: Ids<'_>) -> PyResult<(Array<i64>, Array<i64>)> {
        let ids = ids.view();
        let column = ids.column();
        self.read(py, column.len() > FEW, |segment| segment.find_ids(column)).map(pair)
    }

    /// Search several files for contents; return indices of contents, the rows that have them, and the records of
    /// these.
    #[staticmethod]
    fn find_contents_in(
        py: Python<'_>,
        files: Vec<Py<Self>>,
        contents: Slice<u64>,
    ) -> PyResult<(Array<i64>, Array<i64>, Array<u8>)> {
        let (mut owners, mut rows, mut records) = (Vec::new(), Vec::new(), Vec::new());
        for file in &files {
            let (offsets, result, bytes) = file.get().read(py, contents.len() > 2 * FEW, |segment| {
                let (offsets, result) = segment.find_contents(&contents)?;
                let bytes = segment.records(&segment.positions(&result)?)?;
                Ok((offsets, result, bytes))
            })?;
            add_owners(&mut owners, &offsets).into_python()?;
            alloc::try_extend(&mut rows, &result).into_python()?;
            alloc::try_extend(&mut records, &bytes).into_python()?;
        }
        Ok((Array(owners), Array(rows), Array(records)))
    }

    /// Search several files for ids; return indices of ids, and the rows that have them.
    #[staticmethod]
    fn find_ids_in(py: Python<'_>, files: Vec<Py<Self>>, ids: Ids<'_>) -> PyResult<(Array<i64>, Array<i64>)> {
        let ids = ids.view();
        let column = ids.column();
        let (mut owners, mut rows) = (Vec::new(), Vec::new());
        for file in &files {
            let (offsets, result) = file.get().read(py, column.len() > FEW, |segment| segment.find_ids(column))?;
            add_owners(&mut owners, &offsets).into_python()?;
            alloc::try_extend(&mut rows, &result).into_python()?;
        }
        Ok((Array(owners), Array(rows)))
    }

    /// Return the records at positions.
    fn records(&self, py: Python<'_>, places: Slice<i64>) -> PyResult<Array<u8>> {
        self.read(py, false, |segment| segment.records(&places)).map(Array)
    }

    /// Return the contents at positions.
    fn contents(&self, py: Python<'_>, places: Slice<i64>) -> PyResult<Array<u64>> {
        self.read(py, false, |segment| segment.contents(&places)).map(Array)
    }

    /// Return the ids at positions: an array of integers, or of objects.
    fn ids(&self, py: Python<'_>, places: Slice<i64>) -> PyResult<Py<PyAny>> {
        let ids: Vec<PyId> = self.read(py, false, |segment| {
            let convert = |id| match id {
                Id::Int(id) => PyId::Int(id),
                Id::Name(id) => PyId::Name(id.to_owned()),
            };
            alloc::try_collect(segment.ids(&places)?.into_iter().map(convert))
        })?;
        if self.0.has_int_ids() {
            let mut ints = alloc::try_with_capacity(ids.len()).into_python()?;
            ints.extend(ids.into_iter().filter_map(|id| if let PyId::Int(id) = id { Some(id) } else { None }));
            return Ok(ints.into_pyarray(py).into_any().unbind());
        }
        let mut objects: Vec<Py<PyAny>> = alloc::try_with_capacity(ids.len()).into_python()?;
        for id in ids {
            objects.push(id.into_pyobject(py)?.unbind());
        }
        Ok(objects.into_pyarray(py).into_any().unbind())
    }

    /// Return the byte strings at positions.
    fn extras(&self, py: Python<'_>, places: Slice<i64>) -> PyResult<Py<PyList>> {
        let extras: Vec<Vec<u8>> =
            self.read(py, false, |segment| alloc::try_map(segment.extras(&places)?.into_iter().map(alloc::try_copy)))?;
        Ok(PyList::new(py, extras.iter().map(|extra| PyBytes::new(py, extra)))?.unbind())
    }

    /// Return the texts at positions.
    fn texts(&self, py: Python<'_>, places: Slice<i64>) -> PyResult<Py<PyList>> {
        let texts = self.read(py, places.len() > FEW_TEXTS, |segment| segment.texts(&places))?;
        list(py, &texts)
    }

    /// Verify the file.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.read(py, true, store::StoreSegment::verify)
    }
}

/// Append the index of each result's query.
fn add_owners(owners: &mut Vec<i64>, offsets: &[i64]) -> nearkin_core::Result<()> {
    alloc::try_reserve(owners, offsets.last().map_or(0, |&end| end as usize))?;
    owners.extend(
        offsets.windows(2).zip(0..).flat_map(|(ends, owner)| std::iter::repeat_n(owner, (ends[1] - ends[0]) as usize)),
    );
    Ok(())
}

/// Convert strings and None for Python.
fn list(py: Python<'_>, texts: &[Option<String>]) -> PyResult<Py<PyList>> {
    Ok(PyList::new(py, texts.iter().map(|text| text.as_ref().map(|text| PyString::new(py, text))))?.unbind())
}

/// Number of documents, number of texts, their bytes, uncompressed length, and the frame of a block.
type Block = (usize, u64, u64, usize, Py<PyBytes>);

/// Pack texts into compressed blocks.
#[pyfunction]
fn store_pack(py: Python<'_>, texts: &Bound<'_, PyAny>, level: i32, dictionary: &[u8]) -> PyResult<Vec<Block>> {
    let blocks = Texts::process(texts, |texts| store::pack(texts, level, dictionary))?;
    let convert = |block: Packed<Vec<u8>>| {
        (block.documents, block.texts, block.text_bytes, block.length, PyBytes::new(py, &block.frame).unbind())
    };
    Ok(blocks.into_iter().map(convert).collect())
}

/// Return the texts of a block that `store_pack` built.
#[pyfunction]
fn store_unpack(
    py: Python<'_>,
    frame: PyBackedBytes,
    documents: usize,
    length: usize,
    dictionary: PyBackedBytes,
) -> PyResult<Py<PyList>> {
    let texts = py.detach(|| store::unpack(&frame, documents, length, &dictionary)).into_python()?;
    list(py, &texts)
}

/// Return the XXH3-64 of each byte string, as signed numbers.
#[pyfunction]
fn store_sums(parts: Vec<PyBackedBytes>) -> PyResult<Array<i64>> {
    let sums = alloc::try_collect(parts.iter().map(|part| xxh3::hash(part, 0) as i64)).into_python()?;
    Ok(Array(sums))
}

register! {
    [StoreSegment] store_pack, store_unpack, store_sums
}
