//! `LshCore`: the index of `nearkin_core::index::lsh` behind a lock, arrays in and out.

use std::path::PathBuf;
use std::sync::Arc;

use nearkin_core::Error;
use nearkin_core::index::lsh::join::{self, JoinParams, JoinRows, NearPairs};
use nearkin_core::index::lsh::{
    Alternatives, HashKind, Hashes, Hits, Index, Metric, OwnedVectors, Queries, Query, RotationSeed, SearchParams,
    TableLayout, VectorStore, Vectors,
};
use nearkin_core::vectors::random::normal_quantile;
use numpy::{IntoPyArray, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{FoundIds, IdView, Ids, IndexCore, Lists, Locked, lists, parse_existing};
use crate::convert::{Array, Slice, check_places};
use crate::errors::{IntoPython, to_python};
use crate::threads::detached;

/// Offsets, ids and distances of a batch of queries.
type QueryArrays = (Array<i64>, FoundIds, Py<PyAny>);

/// Maximum number of values that one query may visit without handling signals.
const LIGHT: usize = 1 << 26;

/// Vectors and hashes with their ids; `nearkin.LSHIndex` is the public class.
#[pyclass(frozen, extends = IndexCore, module = "nearkin._core")]
pub(crate) struct LshCore {
    index: Arc<Locked<Index>>,
    dimension: usize,
}

/// Hashes of a batch: `uint64` words or `int64` values.
#[derive(FromPyObject)]
enum HashArray<'py> {
    Bits(Slice<'py, u64>),
    Ints(Slice<'py, i64>),
}

impl HashArray<'_> {
    fn view(&self) -> Hashes<'_> {
        match self {
            Self::Bits(words) => Hashes::Bits(words),
            Self::Ints(values) => Hashes::Ints(values),
        }
    }
}

/// Vectors of a batch, flat: `float32`, `float64`, `uint8`, `int8`, bits of `float16` as `uint16`, or row ends,
/// coordinates and values.
enum VectorArray<'py> {
    F32(Slice<'py, f32>),
    F64(Slice<'py, f64>),
    U8(Slice<'py, u8>),
    I8(Slice<'py, i8>),
    F16(Slice<'py, u16>),
    Sparse(Slice<'py, u64>, Slice<'py, u32>, Slice<'py, f64>),
}

impl<'py> FromPyObject<'_, 'py> for VectorArray<'py> {
    type Error = PyErr;

    /// Select by the array's type: a failed conversion creates an exception, which takes longer than a query.
    fn extract(value: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let Ok(array) = value.cast::<PyUntypedArray>() else {
            let (ends, columns, values) = value.extract()?;
            return Ok(Self::Sparse(ends, columns, values));
        };
        Ok(match (array.dtype().kind(), array.dtype().itemsize()) {
            (b'f', 4) => Self::F32(value.extract()?),
            (b'f', 8) => Self::F64(value.extract()?),
            (b'u', 1) => Self::U8(value.extract()?),
            (b'i', 1) => Self::I8(value.extract()?),
            _ => Self::F16(value.extract()?),
        })
    }
}

impl VectorArray<'_> {
    fn view(&self) -> Vectors<'_> {
        match self {
            Self::F32(values) => Vectors::F32(values),
            Self::F64(values) => Vectors::F64(values),
            Self::U8(values) => Vectors::U8(values),
            Self::I8(values) => Vectors::I8(values),
            Self::F16(values) => Vectors::F16(values),
            Self::Sparse(ends, columns, values) => Vectors::Sparse(ends, columns, values),
        }
    }
}

/// Return the number of values of dense vectors.
fn num_values(vectors: Vectors<'_>) -> Option<usize> {
    match vectors {
        Vectors::F32(values) => Some(values.len()),
        Vectors::F64(values) => Some(values.len()),
        Vectors::U8(values) => Some(values.len()),
        Vectors::I8(values) => Some(values.len()),
        Vectors::F16(values) => Some(values.len()),
        Vectors::Sparse(..) => None,
    }
}

/// Probing alternatives of a batch: number per hash, values (none for bits), costs.
type Others<'py> = Option<(usize, Slice<'py, i64>, Slice<'py, f64>)>;

/// A batch of queries: hashes, probing alternatives, number of probes or candidates, and rank of codes (none for tables).
type Batch<'py> = (HashArray<'py>, Others<'py>, usize, Option<String>);

impl LshCore {
    fn of(py: Python<'_>, index: Index) -> PyResult<Py<Self>> {
        let dimension = index.store().dim();
        Py::new(py, IndexCore::of(index, |index| Self { index, dimension }))
    }

    /// Call `work` with read access to the index; the calling thread answers a small single query, because waking
    /// another takes longer.
    fn query_index<T: Send>(
        &self,
        py: Python<'_>,
        queries: &Queries<'_>,
        vectors: Vectors<'_>,
        work: impl FnOnce(&Index) -> nearkin_core::Result<T> + Send,
    ) -> PyResult<T> {
        let one = match vectors {
            Vectors::Sparse(ends, ..) => ends.len() == 2,
            dense => num_values(dense) == Some(self.dimension),
        };
        let candidates = || self.index.about(py, |index| Ok(index.max_candidates(&queries.params)));
        let light = one && candidates()?.saturating_mul(self.dimension) <= LIGHT;
        if light { self.index.peek(py, work) } else { self.index.query(py, work) }
    }

    /// Distances are `float64` if vectors are, otherwise `float32`, to which they are rounded.
    fn result(
        &self,
        py: Python<'_>,
        queries: &Queries<'_>,
        vectors: Vectors<'_>,
        query: Query,
    ) -> PyResult<QueryArrays> {
        let found =
            self.query_index(py, queries, vectors, |index| Ok(found(index, index.query(queries, vectors, query)?)))?;
        Ok(query_arrays(py, found))
    }
}

/// Hits, their ids, and whether distances stay `float64`.
type Found = (Hits, FoundIds, bool);

fn found(index: &Index, hits: Hits) -> Found {
    let ids = FoundIds::of(index.rows(), &hits.rows);
    (hits, ids, matches!(index.store(), VectorStore::F64(_) | VectorStore::Sparse(_)))
}

fn query_arrays(py: Python<'_>, (hits, ids, wide): Found) -> QueryArrays {
    let distances = if wide {
        hits.distances.into_pyarray(py).into_any()
    } else {
        let narrow: Vec<f32> = hits.distances.iter().map(|&distance| distance as f32).collect();
        narrow.into_pyarray(py).into_any()
    };
    (Array(hits.offsets), ids, distances.unbind())
}

fn queries<'a>((hashes, others, effort, scan): &'a Batch<'_>) -> PyResult<Queries<'a>> {
    let alternatives =
        others.as_ref().map(|(per_hash, values, costs)| Alternatives { per_hash: *per_hash, values, costs });
    let params = match scan.as_deref() {
        None => SearchParams::Probes(*effort),
        Some("hamming") => SearchParams::Codes(*effort),
        Some("spherical") => SearchParams::Spherical(*effort),
        Some(other) => {
            let allowed = "\"hamming\" or \"spherical\"";
            return Err(to_python(Error::parameter("rank", format!("{other:?}"), allowed)));
        }
    };
    Ok(Queries { hashes: hashes.view(), alternatives, params })
}

/// Metric, kind of vectors, dimension, kind of ids, bytes of the filter, of vectors, of ids.
type Info = (&'static str, &'static str, usize, &'static str, usize, usize, usize);

#[pymethods]
impl LshCore {
    /// Create an index of bucket tables over integers or bits.
    #[staticmethod]
    fn buckets(
        py: Python<'_>,
        metric: &str,
        vectors: &str,
        dimension: usize,
        integers: bool,
        hashes: usize,
        per_table: usize,
        columns: Slice<u32>,
    ) -> PyResult<Py<Self>> {
        let kind = if integers { HashKind::Ints } else { HashKind::Bits };
        let layout = TableLayout::new(kind, hashes, per_table, columns.to_vec()).into_python()?;
        let store = VectorStore::new(vectors, dimension).into_python()?;
        Self::of(py, Index::with_buckets(Metric::parse(metric).into_python()?, layout, store))
    }

    /// Create an index of scanned codes.
    #[staticmethod]
    fn codes(py: Python<'_>, metric: &str, vectors: &str, dimension: usize, bits: usize) -> PyResult<Py<Self>> {
        let store = VectorStore::new(vectors, dimension).into_python()?;
        let index = Index::with_codes(Metric::parse(metric).into_python()?, bits, store).into_python()?;
        Self::of(py, index)
    }

    /// Create a `RaBitQ` index; the vectors added first determine its space.
    #[staticmethod]
    fn rotation(
        py: Python<'_>,
        metric: &str,
        vectors: &str,
        dimension: usize,
        drawn: (u64, u64),
        cells: Option<usize>,
        first: VectorArray<'_>,
    ) -> PyResult<Py<Self>> {
        let store = VectorStore::new(vectors, dimension).into_python()?;
        let metric = Metric::parse(metric).into_python()?;
        let (drawn, first) = (RotationSeed { seed: drawn.0, stream: drawn.1 }, first.view());
        Self::of(py, detached(py, || Index::with_rabitq(metric, drawn, cells, store, first))?)
    }

    /// Return the number of coordinates and partitions of a `RaBitQ` index; None for other kinds.
    fn rotated(&self, py: Python<'_>) -> PyResult<Option<(usize, usize)>> {
        self.index.about(py, |index| Ok(index.rabitq_shape()))
    }

    /// Return offsets, ids, distances of the k nearest, or of all within a radius, by estimates.
    #[pyo3(signature = (vectors, deviations, probes, k=None, radius=None, reach=None))]
    fn estimated(
        &self,
        py: Python<'_>,
        vectors: VectorArray<'_>,
        deviations: f64,
        probes: usize,
        k: Option<usize>,
        radius: Option<f64>,
        reach: Option<f32>,
    ) -> PyResult<QueryArrays> {
        let query = radius.map_or(Query::Knn(k.unwrap_or(0)), Query::Radius);
        let params = SearchParams::Estimate { deviations, num_probes: probes, reach };
        let queries = Queries { hashes: Hashes::Bits(&[]), alternatives: None, params };
        self.result(py, &queries, vectors.view(), query)
    }

    /// Return offsets, rows, distances of the rows within a radius of some live rows, by estimates.
    #[pyo3(signature = (rows, radius, deviations, probes, reach=None))]
    fn near_rows(
        &self,
        py: Python<'_>,
        rows: Slice<u32>,
        radius: f64,
        deviations: f64,
        probes: usize,
        reach: Option<f32>,
    ) -> PyResult<(Array<i64>, Array<u32>, Array<f64>)> {
        let params = SearchParams::Estimate { deviations, num_probes: probes, reach };
        let Hits { offsets, rows, distances, .. } =
            self.index.query(py, |index| index.near_rows(&rows, radius, &params))?;
        Ok((Array(offsets), Array(rows), Array(distances)))
    }

    /// Return for each query and each of its rows how many partitions are nearer than that of the row.
    fn partition_ranks(&self, py: Python<'_>, vectors: VectorArray<'_>, rows: Slice<u32>) -> PyResult<Array<u32>> {
        let vectors = vectors.view();
        self.index.query(py, |index| index.partition_ranks(vectors, &rows)).map(Array)
    }

    /// Return the live rows, ascending.
    fn live_rows(&self, py: Python<'_>) -> PyResult<Array<u32>> {
        self.index.query(py, Index::live_rows).map(Array)
    }

    /// Open a saved index; also return the metadata stored with it.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<(Py<Self>, Py<PyBytes>)> {
        let index = detached(py, || Index::open(&path))?;
        let metadata = PyBytes::new(py, index.metadata()).unbind();
        Ok((Self::of(py, index)?, metadata))
    }

    fn save(&self, py: Python<'_>, path: PathBuf, note: Vec<u8>) -> PyResult<()> {
        self.index.change(py, |index| {
            let before = index.metadata().to_vec();
            index.set_metadata(note);
            index.save(&path).inspect_err(|_| index.set_metadata(before))
        })
    }

    /// Verify that buckets or codes of rows are those of their hashes.
    fn verify_hashes(&self, py: Python<'_>, rows: Slice<u32>, hashes: HashArray<'_>) -> PyResult<()> {
        let hashes = hashes.view();
        self.index.query(py, |index| index.verify_hashes(&rows, hashes))
    }

    /// Return metric, kind of vectors, dimension, kind of ids, bytes of the filter, of vectors, of ids.
    fn info(&self, py: Python<'_>) -> PyResult<Info> {
        self.index.about(py, |index| {
            let (filter, vectors, ids) = index.bytes();
            let store = index.store();
            Ok((index.metric().name(), store.kind(), store.dim(), index.rows().kind(), filter, vectors, ids))
        })
    }

    /// Add vectors with their hashes; without ids, row numbers are the ids.
    fn add(
        &self,
        py: Python<'_>,
        ids: Option<Ids<'_>>,
        hashes: HashArray<'_>,
        vectors: VectorArray<'_>,
        existing: &str,
    ) -> PyResult<usize> {
        let (ids, hashes, vectors) = (ids.as_ref().map(Ids::view), hashes.view(), vectors.view());
        let existing = parse_existing(existing)?;
        self.index.change(py, |index| index.add(IdView::new_ids(ids.as_ref()), hashes, vectors, existing))
    }

    /// Return offsets, ids, distances of the k nearest.
    fn nearest(&self, py: Python<'_>, batch: Batch<'_>, vectors: VectorArray<'_>, k: usize) -> PyResult<QueryArrays> {
        self.result(py, &queries(&batch)?, vectors.view(), Query::Knn(k))
    }

    /// Return offsets, ids, distances of the k nearest of all rows, without the filter.
    fn exact(&self, py: Python<'_>, vectors: VectorArray<'_>, k: usize) -> PyResult<QueryArrays> {
        let found = self.index.query(py, |index| Ok(found(index, index.exact(vectors.view(), k)?)))?;
        Ok(query_arrays(py, found))
    }

    /// Return offsets, ids, distances of all rows within a radius.
    fn search(&self, py: Python<'_>, batch: Batch<'_>, vectors: VectorArray<'_>, radius: f64) -> PyResult<QueryArrays> {
        self.result(py, &queries(&batch)?, vectors.view(), Query::Radius(radius))
    }

    /// Return offsets, ids, number of rows before duplicates were removed.
    fn candidates(&self, py: Python<'_>, batch: Batch<'_>) -> PyResult<Lists<u64>> {
        let queries = queries(&batch)?;
        self.index.query(py, |index| {
            let result = index.candidates(&queries)?;
            Ok(lists(index.rows(), result.offsets, &result.rows, result.num_met))
        })
    }

    /// Return at most `most` rows in order of addition from `start` on, and their vectors.
    fn stored<'py>(&self, py: Python<'py>, start: usize, most: usize) -> PyResult<(Array<i64>, Bound<'py, PyAny>)> {
        let (rows, vectors) = self.index.query(py, |index| index.stored(start, most))?;
        let rows: Vec<i64> = rows.into_iter().map(i64::from).collect();
        let vectors = match vectors {
            OwnedVectors::F32(values) => values.into_pyarray(py).into_any(),
            OwnedVectors::F64(values) => values.into_pyarray(py).into_any(),
            OwnedVectors::U8(values) => values.into_pyarray(py).into_any(),
            OwnedVectors::I8(values) => values.into_pyarray(py).into_any(),
            OwnedVectors::F16(values) => values.into_pyarray(py).into_any(),
            OwnedVectors::Sparse(ends, columns, values) => {
                (ends.into_pyarray(py), columns.into_pyarray(py), values.into_pyarray(py)).into_pyobject(py)?.into_any()
            }
        };
        Ok((Array(rows), vectors))
    }

    /// Return the distance of each pair of rows.
    fn apart(&self, py: Python<'_>, left: Slice<u32>, right: Slice<u32>) -> PyResult<Array<f64>> {
        self.index.query(py, |index| index.distances_between(&left, &right)).map(Array)
    }

    /// Return the ids of rows.
    fn ids_of(&self, py: Python<'_>, rows: Slice<i64>) -> PyResult<FoundIds> {
        self.index.query(py, |index| {
            let rows: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
            Ok(FoundIds::of(index.rows(), &rows))
        })
    }

    /// Return for each table how many buckets have 1, 2 to 3, 4 to 7, ... rows.
    fn histogram(&self, py: Python<'_>) -> PyResult<Vec<Vec<u64>>> {
        self.index.query(py, |index| Ok(index.histogram()))
    }
}

/// Return the number of standard deviations between an estimate and a bound that loses a true neighbour with
/// probability at most 1 - recall.
#[pyfunction]
fn deviations_of_recall(recall: f64) -> f64 {
    normal_quantile(recall.clamp(0.5, 1.0 - f64::EPSILON))
}

impl VectorArray<'_> {
    /// View the vectors for a join of `rows`.
    fn join_rows<'a>(&'a self, dim: usize, rows: &'a [u32]) -> PyResult<JoinRows<'a>> {
        let values = num_values(self.view())
            .ok_or_else(|| to_python(Error::parameter("vectors", "sparse vectors", "dense vectors")))?;
        check_places("rows", rows, values / dim.max(1))?;
        Ok(JoinRows { vectors: self.view(), dim, rows })
    }
}

/// Return for 0 to 32 bits how many pairs of rows are equal in that many bits of a band, summed over 16 bands.
#[pyfunction]
fn band_collisions(py: Python<'_>, vectors: VectorArray<'_>, dim: usize, rows: Slice<u32>) -> PyResult<Array<u64>> {
    let rows = vectors.join_rows(dim, &rows)?;
    detached(py, || join::band_collisions(&rows)).map(Array)
}

/// Return ordinals `left < right` of near pairs and their distances, and the number of verified pairs.
#[pyfunction]
fn near_pairs(
    py: Python<'_>,
    vectors: VectorArray<'_>,
    dim: usize,
    rows: Slice<u32>,
    radius: f64,
    band_bits: usize,
    bands: usize,
    max_differing: u32,
    all: bool,
) -> PyResult<(Array<u32>, Array<u32>, Array<f64>, usize)> {
    let rows = vectors.join_rows(dim, &rows)?;
    let params = JoinParams { band_bits, bands, max_differing, radius, all };
    let NearPairs { left, right, distances, verified } = detached(py, || join::near_pairs(&rows, &params))?;
    Ok((Array(left), Array(right), Array(distances), verified))
}

/// Return 1 - cosine of each pair of ordinals.
#[pyfunction]
fn cosine_distances(
    py: Python<'_>,
    vectors: VectorArray<'_>,
    dim: usize,
    rows: Slice<u32>,
    left: Slice<u32>,
    right: Slice<u32>,
) -> PyResult<Array<f64>> {
    let rows = vectors.join_rows(dim, &rows)?;
    check_places("left", &left, rows.rows.len())?;
    check_places("right", &right, rows.rows.len())?;
    detached(py, || join::cosine_distances(&rows, &left, &right)).map(Array)
}

register! {
    [LshCore] deviations_of_recall, band_collisions, near_pairs, cosine_distances
}
