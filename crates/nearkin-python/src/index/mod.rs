//! The cores of the indexes, each behind a lock: arrays in and out.
//!
//! Shared code of all indexes: [`IndexCore`] is their base class in Python, [`Locked`] takes the lock and releases the GIL,
//! [`Ids`] converts ids from Python, and [`FoundIds`] back. Ids of results are read under the lock of their search, so that a row never gets the id of
//! another one.

mod bands;
mod buckets;
mod components;
mod digests;
mod hamming;
mod lsh;
mod sketches;
mod tlsh;

use std::convert::Infallible;
use std::sync::Arc;

use nearkin_core::index::hits::Pairs;
use nearkin_core::index::rows::{Existing, Keys, NewIds, Rows};
use nearkin_core::segment::{Segment, with_sigbus_guard, with_verified};
use nearkin_core::{Error, Result};
use numpy::IntoPyArray;
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::convert::Array;
use crate::convert::Slice;
use crate::errors::{IntoPython, to_python};
use crate::locks::Lock;
use crate::threads::{detached_with, reading_unless};

/// Maximum number of rows that the calling thread may add if the index reports little work.
const FEW: usize = 256;

/// The common interface of the core's indexes.
pub(crate) trait Indexed: Send + Sync {
    /// Return its ids, row numbers and tombstones.
    fn rows(&self) -> &Rows;
    /// Return the file that it was opened from.
    fn segment(&self) -> Option<&Segment>;
    /// Remove ids; return how many.
    fn remove(&mut self, ids: Keys<'_>, missing_ok: bool) -> Result<usize>;
    /// Verify the file that it was opened from.
    fn verify(&self) -> Result<()>;
}

/// Implement [`Indexed`] for indexes whose methods have these names.
macro_rules! indexed {
    ($($index:ty),+) => {
        $(impl Indexed for $index {
            fn rows(&self) -> &Rows {
                self.rows()
            }

            fn segment(&self) -> Option<&Segment> {
                self.segment()
            }

            fn remove(&mut self, ids: Keys<'_>, missing_ok: bool) -> Result<usize> {
                self.remove(ids, missing_ok)
            }

            fn verify(&self) -> Result<()> {
                self.verify()
            }
        })+
    };
}

indexed!(
    nearkin_core::index::digests::Index,
    nearkin_core::index::hamming::Index,
    nearkin_core::index::lsh::Index,
    nearkin_core::index::tlsh::Index
);

/// An index behind its lock. Threads wait for the lock only with the GIL released.
pub(crate) struct Locked<I: ?Sized>(pub(crate) Lock<I>);

impl<I: Indexed + ?Sized> Locked<I> {
    /// Call `work` with write access to the index, in the pool.
    pub(crate) fn change<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut I) -> Result<T> + Send) -> PyResult<T> {
        self.change_unless(py, |_| false, work)
    }

    /// Call `work` with write access to the index; the calling thread runs it if `few` returns true.
    pub(crate) fn change_unless<T: Send>(
        &self,
        py: Python<'_>,
        few: impl FnOnce(&I) -> bool + Send,
        work: impl FnOnce(&mut I) -> Result<T> + Send,
    ) -> PyResult<T> {
        detached_with(
            py,
            || self.0.write(),
            |pool, mut index| {
                let index: &mut I = &mut index;
                let segment = index.segment().cloned();
                let few = few(index);
                pool.install_unless(few, || with_verified(segment.as_ref(), || work(index)))
            },
        )
    }

    /// Call `work` with read access to the index, in the pool.
    pub(crate) fn query<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&I) -> Result<T> + Send) -> PyResult<T> {
        self.query_unless(py, |_| false, work)
    }

    /// Call `work` with read access to the index; the calling thread runs it if `few` returns true.
    pub(crate) fn query_unless<T: Send>(
        &self,
        py: Python<'_>,
        few: impl FnOnce(&I) -> bool + Send,
        work: impl FnOnce(&I) -> Result<T> + Send,
    ) -> PyResult<T> {
        reading_unless(py, &self.0, |index| Ok(few(index)), |index| with_verified(index.segment(), || work(index)))
    }

    /// Call `work` with read access in the calling thread, for calls shorter than waking another thread.
    pub(crate) fn peek<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&I) -> Result<T> + Send) -> PyResult<T> {
        py.detach(|| {
            let index = self.0.read()?;
            with_verified(index.segment(), || work(&index))
        })
        .into_python()
    }

    /// Call `work` for metadata of the index, which was checked on opening, so that the file need not be verified.
    pub(crate) fn about<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&I) -> Result<T> + Send) -> PyResult<T> {
        py.detach(|| {
            let index = self.0.read()?;
            with_sigbus_guard(index.segment(), || work(&index))
        })
        .into_python()
    }
}

/// What the cores of all indexes do in the same way: their base class.
#[pyclass(frozen, subclass, module = "nearkin._core")]
pub(crate) struct IndexCore {
    index: Arc<Locked<dyn Indexed>>,
}

impl IndexCore {
    /// Put an index behind its lock, for this base class and for the class that `core` makes.
    pub(crate) fn of<I: Indexed + 'static, C: PyClass<BaseType = Self>>(
        index: I,
        core: impl FnOnce(Arc<Locked<I>>) -> C,
    ) -> PyClassInitializer<C> {
        let index = Arc::new(Locked(Lock::new(index)));
        PyClassInitializer::from(Self { index: index.clone() }).add_subclass(core(index))
    }
}

#[pymethods]
impl IndexCore {
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        self.index.query(py, Indexed::verify)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.index.about(py, |index| Ok(index.rows().len()))
    }

    /// Return true if an id exists.
    fn contains(&self, py: Python<'_>, key: Key) -> PyResult<bool> {
        self.index.peek(py, |index| Ok(key.find(index.rows()).is_some()))
    }

    /// Remove ids; return how many.
    fn remove(&self, py: Python<'_>, ids: Ids<'_>, missing_ok: bool) -> PyResult<usize> {
        let ids = ids.view();
        self.index.change(py, |index| index.remove(ids.keys(), missing_ok))
    }

    /// Return at most `most` ids in order of addition, of the rows from `start` on; and the row after the last of them.
    fn ids(&self, py: Python<'_>, start: usize, most: usize) -> PyResult<(FoundIds, usize)> {
        self.index.query(py, |index| {
            let found = index.rows().live_rows(start, most)?;
            let next = found.last().map_or(start, |&row| row as usize + 1);
            Ok((FoundIds::of(index.rows(), &found), next))
        })
    }
}

/// Ids from `nearkin.index.ids.check_ids`: an array of integers, or a list of strings.
#[derive(FromPyObject)]
pub(crate) enum Ids<'py> {
    Ints(Slice<'py, i64>),
    Names(Vec<PyBackedStr>),
}

/// The same without Python.
pub(crate) enum IdView<'a> {
    Ints(&'a [i64]),
    Names(Vec<&'a str>),
}

impl Ids<'_> {
    pub(crate) fn view(&self) -> IdView<'_> {
        match self {
            Self::Ints(ids) => IdView::Ints(ids),
            Self::Names(ids) => IdView::Names(ids.iter().map(|id| &**id).collect()),
        }
    }
}

impl IdView<'_> {
    pub(crate) fn keys(&self) -> Keys<'_> {
        match self {
            Self::Ints(ids) => Keys::Ints(ids),
            Self::Names(ids) => Keys::Names(ids),
        }
    }

    pub(crate) fn new_ids<'a>(ids: Option<&'a IdView<'_>>) -> NewIds<'a> {
        match ids {
            None => NewIds::Rows,
            Some(IdView::Ints(ids)) => NewIds::Ints(ids),
            Some(IdView::Names(ids)) => NewIds::Names(ids),
        }
    }
}

/// A single id.
#[derive(FromPyObject)]
pub(crate) enum Key {
    Int(i64),
    Name(PyBackedStr),
}

impl Key {
    /// Return its row.
    pub(crate) fn find(&self, rows: &Rows) -> Option<u32> {
        match self {
            Self::Int(id) => rows.find_int(*id),
            Self::Name(id) => rows.find_name(id),
        }
    }
}

/// Ids of rows: in Python an array of `int64`, or of `str` objects.
pub(crate) enum FoundIds {
    Ints(Vec<i64>),
    Names(Vec<String>),
}

impl FoundIds {
    pub(crate) fn of(rows: &Rows, found: &[u32]) -> Self {
        if rows.kind() == "strings" {
            Self::Names(found.iter().map(|&row| rows.string(row).unwrap_or_default().to_owned()).collect())
        } else {
            Self::Ints(found.iter().map(|&row| rows.int(row)).collect())
        }
    }
}

/// Lists of rows for Python: offsets, ids, and a value of each row.
pub(crate) type Lists<D> = (Array<i64>, FoundIds, Array<D>);

/// Convert lists of rows for Python.
pub(crate) fn lists<D>(rows: &Rows, offsets: Vec<i64>, found: &[u32], values: Vec<D>) -> Lists<D> {
    (Array(offsets), FoundIds::of(rows, found), Array(values))
}

/// Pairs for Python: left and right ids, and a value of each pair.
pub(crate) type FoundPairs<D> = (FoundIds, FoundIds, Array<D>);

/// Convert pairs for Python.
pub(crate) fn pairs_of<D>(left: &Rows, right: &Rows, pairs: Pairs<D>) -> FoundPairs<D> {
    (FoundIds::of(left, &pairs.left), FoundIds::of(right, &pairs.right), Array(pairs.distances))
}

impl<'py> IntoPyObject<'py> for FoundIds {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> std::result::Result<Self::Output, Infallible> {
        Ok(match self {
            Self::Ints(ids) => ids.into_pyarray(py).into_any(),
            Self::Names(ids) => {
                let ids: Vec<Py<PyAny>> =
                    ids.into_iter().map(|id| pyo3::types::PyString::new(py, &id).into_any().unbind()).collect();
                ids.into_pyarray(py).into_any()
            }
        })
    }
}

/// Parse the name of the rule for existing ids.
pub(crate) fn parse_existing(name: &str) -> PyResult<Existing> {
    match name {
        "error" => Ok(Existing::Error),
        "update" => Ok(Existing::Update),
        "skip" => Ok(Existing::Skip),
        _ => {
            let found = format!("{name:?}");
            Err(to_python(Error::parameter("existing", found, "\"error\", \"update\" or \"skip\"")))
        }
    }
}

register! {
    [IndexCore] mod bands, buckets, components, digests, hamming, lsh, sketches, tlsh
}
