"""Types of the compiled kernels; a test holds this file equal to the binary."""

DEBUG_BUILD: bool
__version__: str

def num_threads() -> int: ...
def set_num_threads(threads: int | None = None) -> None: ...
