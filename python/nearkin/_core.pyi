"""Types of the compiled kernels; a test holds this file equal to the binary."""

import numpy as np
from numpy.typing import NDArray

DEBUG_BUILD: bool
__version__: str

def num_threads() -> int: ...
def set_num_threads(threads: int | None = None) -> None: ...

# corpus
class Records:
    @property
    def offsets(self) -> NDArray[np.int64]: ...
    @property
    def data(self) -> NDArray[np.uint8]: ...
    @property
    def nulls(self) -> NDArray[np.uint32]: ...
    @property
    def starts(self) -> NDArray[np.uint32]: ...
    @property
    def lengths(self) -> NDArray[np.uint32]: ...
    @property
    def columns(
        self,
    ) -> list[tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]]: ...
    @property
    def malformed(self) -> list[tuple[int, str]]: ...
    @property
    def malformed_count(self) -> int: ...
    @property
    def consumed(self) -> int: ...
    @property
    def lines(self) -> int: ...

def read_jsonl(
    block: NDArray[np.uint8],
    text: str,
    id: str | None = None,
    extra: list[str] = ...,
    *,
    end: bool = True,
    lengths: NDArray[np.uint32] | None = None,
) -> Records: ...
def read_csv(
    block: NDArray[np.uint8],
    delimiter: int,
    fields: int,
    text: int,
    scalars: list[int],
    *,
    end: bool = True,
    lengths: NDArray[np.uint32] | None = None,
) -> Records: ...
def read_csv_header(
    block: NDArray[np.uint8], delimiter: int, *, end: bool = True
) -> tuple[list[str], int] | None: ...
def read_lines(
    block: NDArray[np.uint8], *, end: bool = True, lengths: NDArray[np.uint32] | None = None
) -> Records: ...
def invalid_utf8(offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> NDArray[np.uint32]: ...
def read_spans(
    descriptor: int, starts: NDArray[np.int64], lengths: NDArray[np.uint32]
) -> NDArray[np.uint8]: ...
