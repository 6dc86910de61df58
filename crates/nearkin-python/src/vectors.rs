//! Kernels of the vector families: `random`, `project`, `polytope` and `arrays` of the core, arrays in and out.

use std::path::PathBuf;

use nearkin_core::families::cross_polytope::Polytope;
use nearkin_core::families::sparse::{Gaussian, SparseSimHash};
use nearkin_core::segment::arrays;
use nearkin_core::vectors::projection::{self, Affine, Bound as Limit, FewRows, Functions, Quantity, Sparse};
use nearkin_core::vectors::{random, rotation};
use nearkin_core::{Error, Result};
use numpy::{IntoPyArray, PyReadonlyArray2, PyReadwriteArray2};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{Array, Slice, check_length, pair, read_arrays, write_arrays};
use crate::errors::{IntoPython, to_python};
use crate::threads::{detached, detached_if, detached_unless};

/// A matrix in row order.
#[derive(FromPyObject)]
enum Matrix<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

/// The values of a matrix, row after row.
#[derive(Clone, Copy)]
enum Values<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

/// Run the body with the values as a slice of their type: in what runs without the GIL, which is compiled once for both.
macro_rules! dispatch {
    ($values:expr, |$slice:ident| $body:expr) => {
        match $values {
            Values::F32($slice) => $body,
            Values::F64($slice) => $body,
        }
    };
}

impl Matrix<'_> {
    fn shape(&self) -> (usize, usize) {
        let shape = match self {
            Self::F32(values) => values.as_array().dim(),
            Self::F64(values) => values.as_array().dim(),
        };
        (shape.0, shape.1)
    }

    fn values(&self) -> PyResult<Values<'_>> {
        Ok(match self {
            Self::F32(values) => Values::F32(values.as_slice()?),
            Self::F64(values) => Values::F64(values.as_slice()?),
        })
    }
}

/// Check that there is memory for the parameters of hash functions, `count` numbers of eight bytes: an excessive
/// request must raise an exception instead of aborting the process.
fn check_memory(count: Option<usize>) -> PyResult<()> {
    if count.is_some_and(|count| Vec::<u64>::new().try_reserve_exact(count).is_ok()) {
        return Ok(());
    }
    let count = count.map_or_else(|| "more than 2^64".to_owned(), |count| count.to_string());
    let mend = "use fewer hash functions, or vectors of a smaller dimension";
    Err(PyMemoryError::new_err(format!(
        "the hash functions are made of {count} numbers, which do not fit in memory; {mend}"
    )))
}

/// Return `columns` random numbers for each of `rows` functions from `first` on: "gaussian", "cauchy", "uniform" or
/// "word", flat.
#[pyfunction]
fn draw_matrix<'py>(
    py: Python<'py>,
    kind: &str,
    seed: u64,
    stream: u64,
    first: u64,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let at = (seed, stream, first);
    check_memory(rows.checked_mul(columns))?;
    Ok(match kind {
        "gaussian" => {
            detached(py, || random::matrix(at, rows, columns, random::gaussian_at))?.into_pyarray(py).into_any()
        }
        "cauchy" => detached(py, || random::matrix(at, rows, columns, random::cauchy_at))?.into_pyarray(py).into_any(),
        "uniform" => {
            let value = |base, column| random::uniform(random::word(base, column));
            detached(py, || random::matrix(at, rows, columns, value))?.into_pyarray(py).into_any()
        }
        "word" => detached(py, || random::matrix(at, rows, columns, random::word))?.into_pyarray(py).into_any(),
        other => {
            let allowed = "\"gaussian\", \"cauchy\", \"uniform\" or \"word\"";
            return Err(to_python(Error::parameter("kind", format!("{other:?}"), allowed)));
        }
    })
}

/// Return rows of Gaussians in which each block of `columns` rows is orthonormal, flat.
#[pyfunction]
fn draw_orthonormal(py: Python<'_>, seed: u64, stream: u64, rows: usize, columns: usize) -> PyResult<Array<f64>> {
    check_memory(rows.checked_mul(columns))?;
    let draw = || {
        let value = |base, column| random::gaussian(random::word(base, column));
        let mut values = random::matrix((seed, stream, 0), rows, columns, value)?;
        projection::orthonormalise(&mut values, columns.max(1));
        Ok(values)
    };
    detached(py, draw).map(Array)
}

/// Matrix-free rotations of vectors.
#[pyclass(frozen, module = "nearkin._core")]
struct Rotations(rotation::Rotations);

#[pymethods]
impl Rotations {
    #[new]
    fn new(seed: u64, stream: u64, bits: usize, dimension: usize) -> PyResult<Self> {
        Ok(Self(rotation::Rotations::new(seed, stream, bits, dimension).into_python()?))
    }

    /// Return words of the signs of x - mean, flat.
    fn codes(&self, py: Python<'_>, x: Matrix<'_>, mean: Slice<f64>) -> PyResult<Array<u64>> {
        let many = x.shape().0 > 1;
        let x = x.values()?;
        detached_if(py, many, || dispatch!(x, |x| self.0.codes(x, &mean))).map(Array)
    }

    /// Return the coordinates of x - mean, flat.
    fn products(&self, py: Python<'_>, x: Matrix<'_>, mean: Slice<f64>) -> PyResult<Array<f64>> {
        let many = x.shape().0 > 1;
        let x = x.values()?;
        detached_if(py, many, || dispatch!(x, |x| self.0.products(x, &mean))).map(Array)
    }
}

/// Return the norm of each row; a row with non-finite values is an error.
#[pyfunction]
fn row_norms(py: Python<'_>, x: Matrix<'_>, first: usize) -> PyResult<Array<f64>> {
    let (n, d) = x.shape();
    let worth = projection::worth_threads(n, n * d);
    let x = x.values()?;
    detached_if(py, worth, || dispatch!(x, |x| projection::norms(x, d, first))).map(Array)
}

/// Return for each row a bound from its norm to 1.001 times it, 0 for a row of zeros; errors as of `row_norms`.
#[pyfunction]
fn row_norm_bounds(py: Python<'_>, x: Matrix<'_>, first: usize) -> PyResult<Array<f64>> {
    let (n, d) = x.shape();
    let worth = projection::worth_threads(n, n * d);
    let x = x.values()?;
    detached_if(py, worth, || dispatch!(x, |x| projection::norm_bounds(x, d, first))).map(Array)
}

/// Return the norm of each row of a CSR matrix with sorted, distinct columns.
/// Sparse rows from Python: ends of rows with 0 before the first, columns, values.
type Csr<'py> = (Slice<'py, i64>, Slice<'py, i64>, Slice<'py, f64>);

fn sparse<'a>((ends, positions, values): &'a Csr<'_>, columns: usize) -> Result<Sparse<'a>> {
    Sparse::new(ends, positions, values, columns)
}

#[pyfunction]
fn row_norms_csr(py: Python<'_>, x: Csr<'_>, columns: usize, first: usize) -> PyResult<Array<f64>> {
    detached(py, || projection::norms_sparse(&sparse(&x, columns)?, first)).map(Array)
}

/// Return the mean of each column, summed row by row.
#[pyfunction]
fn column_means(py: Python<'_>, x: Matrix<'_>) -> PyResult<Array<f64>> {
    let d = x.shape().1;
    let x = x.values()?;
    detached(py, || dispatch!(x, |x| Ok(projection::means(x, d)))).map(Array)
}

/// Return the mean of each column of a CSR matrix with sorted, distinct columns.
#[pyfunction]
fn column_means_csr(py: Python<'_>, x: Csr<'_>, columns: usize) -> PyResult<Array<f64>> {
    detached(py, || projection::means_sparse(&sparse(&x, columns)?)).map(Array)
}

/// Return every xᵢ·aⱼ in `f64` and the fixed order, flat.
#[pyfunction]
fn all_products(py: Python<'_>, x: Matrix<'_>, a: Matrix<'_>) -> PyResult<Array<f64>> {
    let d = a.shape().1;
    check_length("x", x.shape().1, d)?;
    let worth = projection::worth_threads(x.shape().0, x.shape().0 * d * a.shape().0);
    let (x, a) = (x.values()?, a.values()?);
    detached_if(py, worth, || dispatch!(x, |x| dispatch!(a, |a| projection::all_products(x, a, d)))).map(Array)
}

/// Offsets, norms and slacks of the rows of a matrix.
type FewFunctions<'py> = (Slice<'py, f64>, Slice<'py, f64>, Slice<'py, f64>);

fn check_functions<'a>((offset, norms, slack): &'a FewFunctions<'_>, count: usize) -> PyResult<Functions<'a>> {
    check_length("offset", offset.len(), count)?;
    check_length("norms", norms.len(), count)?;
    check_length("slack", slack.len(), count)?;
    Ok(Functions { offset, norms, slack })
}

/// True if the calling thread computes the codes of n rows with m functions.
fn is_few(n: usize, m: usize, d: usize) -> bool {
    !projection::worth_threads(n, n * m.max(d)) && n.saturating_mul(m).saturating_mul(d) <= 1 << 22
}

/// Check the arguments and call a kernel that writes codes of a few rows.
macro_rules! few_codes {
    ($py:ident, ($x:ident, $first:ident), $a:ident, $functions:ident, $width:expr, $out:ident, $kernel:ident $(, $more:expr)?) => {{
        let ((n, d), (m, columns)) = ($x.shape(), $a.shape());
        let (functions, out) = (check_functions(&$functions, m)?, $out.as_slice_mut()?);
        check_length("x", d, columns)?;
        check_length("out", out.len(), n * $width(m))?;
        let (x, a) = ($x.values()?, $a.values()?);
        let codes = || dispatch!(x, |x| dispatch!(a, |a| FewRows { x, a, dimension: d, first: $first, functions }.$kernel($($more,)? out)));
        detached_unless($py, is_few(n, m, d), codes).map(Array)
    }};
}

/// Write packed bits x·a + offset > 0 of a few rows to `out`, with bounds of the rows' norms from `row_norm_bounds`.
#[pyfunction]
fn few_sign_codes(
    py: Python<'_>,
    x: Matrix<'_>,
    first: usize,
    a: Matrix<'_>,
    functions: FewFunctions<'_>,
    mut out: PyReadwriteArray2<'_, u64>,
) -> PyResult<Array<f64>> {
    few_codes!(py, (x, first), a, functions, |m: usize| m.div_ceil(64), out, signs)
}

/// Write bits x·a + offset within `half` of an integer; see `few_sign_codes`.
#[pyfunction]
fn few_band_codes(
    py: Python<'_>,
    x: Matrix<'_>,
    first: usize,
    a: Matrix<'_>,
    functions: FewFunctions<'_>,
    half: Slice<f64>,
    mut out: PyReadwriteArray2<'_, u64>,
) -> PyResult<Array<f64>> {
    check_length("half", half.len(), a.shape().0)?;
    few_codes!(py, (x, first), a, functions, |m: usize| m.div_ceil(64), out, bands, &half)
}

/// Write keys floor((x·a + offset) / width); see `few_sign_codes`.
#[pyfunction]
fn few_floor_codes(
    py: Python<'_>,
    x: Matrix<'_>,
    first: usize,
    a: Matrix<'_>,
    functions: FewFunctions<'_>,
    width: f64,
    mut out: PyReadwriteArray2<'_, i64>,
) -> PyResult<Array<f64>> {
    few_codes!(py, (x, first), a, functions, |m: usize| m, out, floors, width)
}

/// Return every product for a CSR matrix with sorted, distinct columns.
#[pyfunction]
fn all_products_csr(py: Python<'_>, x: Csr<'_>, a: Matrix<'_>) -> PyResult<Array<f64>> {
    let columns = a.shape().1;
    let a = a.values()?;
    detached(py, || dispatch!(a, |a| projection::all_products_sparse(&sparse(&x, columns)?, a))).map(Array)
}

fn measure(squares: bool) -> Quantity {
    if squares { Quantity::SquareDistance } else { Quantity::Product }
}

fn check_range(name: &'static str, places: &[i64], count: usize) -> PyResult<()> {
    match places.iter().find(|&&place| place < 0 || place >= count as i64) {
        None => Ok(()),
        Some(place) => Err(to_python(Error::parameter(name, place, format!("0 to {count}, exclusive")))),
    }
}

/// Return xᵢ·aⱼ, or ‖xᵢ − aⱼ‖² with `squares`, in `f64` and the fixed order, for pairs of positions.
#[pyfunction]
fn exact_values(
    py: Python<'_>,
    x: Matrix<'_>,
    a: Matrix<'_>,
    rows: Slice<i64>,
    columns: Slice<i64>,
    squares: bool,
) -> PyResult<Array<f64>> {
    let (m, d) = a.shape();
    check_length("x", x.shape().1, d)?;
    check_length("columns", columns.len(), rows.len())?;
    check_range("rows", &rows, x.shape().0)?;
    check_range("columns", &columns, m)?;
    let (worth, measure) = (projection::worth_threads(rows.len(), rows.len() * d), measure(squares));
    let (x, a) = (x.values()?, a.values()?);
    let exact = || Ok(dispatch!(x, |x| dispatch!(a, |a| projection::exact(x, a, d, (&rows, &columns), measure))));
    detached_if(py, worth, exact).map(Array)
}

/// Return `exact_values` of a CSR matrix with sorted, distinct columns.
#[pyfunction]
fn exact_values_csr(
    py: Python<'_>,
    x: Csr<'_>,
    a: Matrix<'_>,
    rows: Slice<i64>,
    columns: Slice<i64>,
    squares: bool,
) -> PyResult<Array<f64>> {
    let (m, d) = a.shape();
    check_length("columns", columns.len(), rows.len())?;
    check_range("rows", &rows, x.0.len().saturating_sub(1))?;
    check_range("columns", &columns, m)?;
    let a = a.values()?;
    detached(py, || {
        let x = sparse(&x, d)?;
        Ok(dispatch!(a, |a| projection::exact_sparse(&x, a, (&rows, &columns), measure(squares))))
    })
    .map(Array)
}

/// The parameters of `Bound`: rows, columns, slacks of rows and of columns.
type Bounds<'py> = (Slice<'py, f64>, Slice<'py, f64>, Slice<'py, f64>, Slice<'py, f64>);

fn check_bounds<'a>(bounds: &'a Bounds<'_>, (n, m): (usize, usize)) -> PyResult<Limit<'a>> {
    let (rows, columns, row_slack, column_slack) = bounds;
    check_length("rows", rows.len(), n)?;
    if !row_slack.is_empty() {
        check_length("row_slack", row_slack.len(), n)?;
    }
    check_length("columns", columns.len(), m)?;
    check_length("column_slack", column_slack.len(), m)?;
    Ok(Limit { rows, columns, row_slack, column_slack })
}

type UncertainEntries = (Array<i64>, Array<i64>);

/// Write packed bits `row_offset + offset + factor · product > 0` to `out`; return the rows and columns of uncertain
/// entries.
#[pyfunction]
fn sign_codes(
    py: Python<'_>,
    products: Matrix<'_>,
    factor: f64,
    row_offset: Option<Slice<f64>>,
    offset: Slice<f64>,
    bounds: Bounds<'_>,
    mut out: PyReadwriteArray2<'_, u64>,
) -> PyResult<UncertainEntries> {
    let (n, m) = products.shape();
    let row_offset: &[f64] = match &row_offset {
        None => &[],
        Some(values) => {
            check_length("row_offset", values.len(), n)?;
            values
        }
    };
    let (bound, out) = (check_bounds(&bounds, (n, m))?, out.as_slice_mut()?);
    check_length("offset", offset.len(), m)?;
    check_length("out", out.len(), n * m.div_ceil(64))?;
    let affine = Affine { factor, row_offset, offset: &offset, bound };
    let products = products.values()?;
    let codes = || Ok(dispatch!(products, |products| projection::signs(products, affine, out)));
    detached_if(py, projection::worth_threads(n, n * m), codes).map(pair)
}

/// Write keys floor((product + offset) / width) to `out`; return the rows and columns of uncertain entries.
#[pyfunction]
fn floor_codes(
    py: Python<'_>,
    products: Matrix<'_>,
    width: f64,
    offset: Slice<f64>,
    bounds: Bounds<'_>,
    mut out: PyReadwriteArray2<'_, i64>,
) -> PyResult<UncertainEntries> {
    let (n, m) = products.shape();
    let (bound, out) = (check_bounds(&bounds, (n, m))?, out.as_slice_mut()?);
    check_length("offset", offset.len(), m)?;
    check_length("out", out.len(), n * m)?;
    let affine = Affine { factor: 1.0, row_offset: &[], offset: &offset, bound };
    let products = products.values()?;
    let codes = || Ok(dispatch!(products, |products| projection::floors(products, affine, width, out)));
    detached_if(py, projection::worth_threads(n, n * m), codes).map(pair)
}

/// Write packed bits to `out`, set if product + offset is within `half` of an integer; return the uncertain entries.
#[pyfunction]
fn band_codes(
    py: Python<'_>,
    products: Matrix<'_>,
    offset: Slice<f64>,
    half: Slice<f64>,
    bounds: Bounds<'_>,
    mut out: PyReadwriteArray2<'_, u64>,
) -> PyResult<UncertainEntries> {
    let (n, m) = products.shape();
    let (bound, out) = (check_bounds(&bounds, (n, m))?, out.as_slice_mut()?);
    check_length("offset", offset.len(), m)?;
    check_length("half", half.len(), m)?;
    check_length("out", out.len(), n * m.div_ceil(64))?;
    let affine = Affine { factor: 1.0, row_offset: &[], offset: &offset, bound };
    let products = products.values()?;
    let codes = || Ok(dispatch!(products, |products| projection::bands(products, affine, &half, out)));
    detached_if(py, projection::worth_threads(n, n * m), codes).map(pair)
}

/// Set bit `columns[i]` of row `rows[i]` of packed words to `values[i]`.
#[pyfunction]
fn set_bits(
    mut words: PyReadwriteArray2<'_, u64>,
    rows: Slice<i64>,
    columns: Slice<i64>,
    values: Slice<bool>,
) -> PyResult<()> {
    let (n, width) = words.as_array().dim();
    let words = words.as_slice_mut()?;
    check_length("columns", columns.len(), rows.len())?;
    check_length("values", values.len(), rows.len())?;
    check_range("rows", &rows, n)?;
    check_range("columns", &columns, 64 * width)?;
    for ((&row, &column), &value) in rows.iter().zip(&*columns).zip(&*values) {
        let word = &mut words[row as usize * width + column as usize / 64];
        *word = *word & !(1 << (column % 64)) | u64::from(value) << (column % 64);
    }
    Ok(())
}

/// Cross-polytope functions; `nearkin.families.CrossPolytope` is the public class.
#[pyclass(frozen, module = "nearkin._core")]
struct PolytopeCore {
    polytope: Polytope,
}

#[pymethods]
impl PolytopeCore {
    #[new]
    fn new(py: Python<'_>, dimension: usize, dims: Vec<usize>, seed: u64, matrix: bool) -> PyResult<Self> {
        let most = if matrix { dimension } else { dimension.max(1).checked_next_power_of_two().unwrap_or(usize::MAX) };
        if let Some(&bad) = dims.iter().find(|&&dims| dims == 0 || dims > most) {
            return Err(to_python(Error::parameter("dims", bad, format!("1 to {most}"))));
        }
        check_memory(Polytope::parameters(dimension, &dims, matrix))?;
        Ok(Self { polytope: detached(py, || Polytope::new(dimension, dims, seed, matrix))? })
    }

    /// Return the value of every function for every row, flat.
    fn values(&self, py: Python<'_>, x: Matrix<'_>) -> PyResult<Array<i64>> {
        check_length("x", x.shape().1, self.polytope.dimension())?;
        let several = x.shape().0 > 1;
        let x = x.values()?;
        detached_if(py, several, || dispatch!(x, |x| self.polytope.values(x))).map(Array)
    }

    /// Return the next `count` vertices for every row and function, and their costs, flat.
    fn alternatives(&self, py: Python<'_>, x: Matrix<'_>, count: usize) -> PyResult<(Array<i64>, Array<f64>)> {
        check_length("x", x.shape().1, self.polytope.dimension())?;
        let several = x.shape().0 > 1;
        let x = x.values()?;
        detached_if(py, several, || dispatch!(x, |x| self.polytope.alternatives(x, count))).map(pair)
    }
}

/// Return packed bits of CSR rows, flat; without `heavy`, all columns use Gaussians, otherwise those of that ascending
/// list.
#[pyfunction]
#[pyo3(signature = (x, *, columns, bits, seed, heavy=None))]
fn sparse_simhash(
    py: Python<'_>,
    x: Csr<'_>,
    columns: usize,
    bits: usize,
    seed: u64,
    heavy: Option<Slice<i64>>,
) -> PyResult<Array<u64>> {
    let gaussian = heavy.map_or(Gaussian::All, |heavy| Gaussian::Columns(heavy.to_vec()));
    let codes = || {
        sparse(&x, columns)?;
        SparseSimHash::new(bits.max(1), seed, gaussian).codes(&x.0, &x.1, &x.2)
    };
    detached(py, codes).map(Array)
}

/// Write a family's description and arrays to a file, replacing it atomically.
#[pyfunction]
fn write_family(py: Python<'_>, path: PathBuf, text: &str, values: Vec<Slice<u8>>) -> PyResult<()> {
    write_arrays(py, &path, arrays::FAMILY, text, &values)
}

/// Read a file that `write_family` wrote.
#[pyfunction]
fn read_family(py: Python<'_>, path: PathBuf) -> PyResult<(String, Vec<Py<PyBytes>>)> {
    read_arrays(py, &path, arrays::FAMILY)
}

register! {
    [PolytopeCore, Rotations] all_products, all_products_csr, band_codes, column_means, column_means_csr,
    draw_matrix, draw_orthonormal, exact_values, exact_values_csr, few_band_codes, few_floor_codes, few_sign_codes,
    floor_codes, read_family, row_norm_bounds, row_norms, row_norms_csr, set_bits, sign_codes, sparse_simhash,
    write_family
}
