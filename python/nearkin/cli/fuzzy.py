"""`nearkin fuzzy`: both fuzzy digests of files, ssdeep and TLSH, and groups by either.

Results go to standard output, messages to standard error. Exit codes: 0 files were hashed; 1 a file could not be read
(the others are processed); 2 wrong usage; 3 no two files match.
"""

from __future__ import annotations

from typing import Annotated

from nearkin.cli.commands import Commands
from nearkin.cli.console import Failures, progress_bars
from nearkin.cli.corpus import list_files
from nearkin.cli.options import MATCHING, Json, Quiet, opt
from nearkin.cli.ssdeep import FilePaths, Recursive, print_rows
from nearkin.errors import bad_parameter

app = Commands()

Score = Annotated[int, opt("Minimum ssdeep score, inclusive.", "--threshold", "-t", group=MATCHING, min=1, max=100)]
Distance = Annotated[int, opt("Maximum distance, inclusive.", "--distance", group=MATCHING, min=0, max=100)]


@app.add()
def fuzzy(
    inputs: FilePaths = None,
    recursive: Recursive = False,
    threshold: Score = 80,
    distance: Distance = 40,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print both digests of each file, and group files that match by either; exit code 3 if no two match.

    Each row has the number of its group, or - without one (null in JSON), the path, both digests and the evidence:
    score and a common 7-gram of ssdeep, distance and equal buckets of TLSH, or equal bytes.

    Examples
    --------
    $ nearkin fuzzy --recursive Documents
    group   path    ssdeep  tlsh    evidence
    1       Documents/new.bin       192:1OGp2Rut721N+yQ8gUfgfpPBM0bjziHHUVRy8iB...
    1       Documents/old.bin       192:1OGp2Rut721N+yQ8gUfgfpPBM0bjziHHUVOy8iB...

    nearkin fuzzy --recursive Samples --distance 70 --json
    """
    from nearkin.dedup.files import dedup_files
    from nearkin.digests import ssdeep, tlsh

    failures = Failures()
    paths = list(dict.fromkeys(map(str, list_files(inputs or [], failures, recursive=recursive))))
    if not paths and not failures.failed:
        raise bad_parameter("inputs", "none", "files, or directories with --recursive")
    with progress_bars(quiet=quiet) as progress:
        result = dedup_files(
            paths, family="fuzzy", threshold=threshold, radius=distance, on_error=failures.add, progress=progress
        )
    groups = {row["id"]: row for row in result.clusters.rows()}
    known = {*groups, *result.kept}
    readable = [path for path in paths if path in known]
    digests = {
        path: [value if isinstance(value, str) else "" for value in pair]
        for path, *pair in zip(
            readable,
            ssdeep.hash_files(readable, on_error="return"),
            tlsh.hash_files(readable, on_error="return"),
            strict=True,
        )
    }
    rows: list[list[str | int | None]] = []
    # Groups in order of their first files, then the other files.
    for path in [*groups, *(path for path in readable if path not in groups)]:
        evidence = ""
        if path in groups and (row := groups[path])["reason"] == "exact":
            evidence = "equal bytes"
        elif path in groups and row["reason"] != "kept":
            pairs = list(zip(digests[path], digests[row["representative"]], strict=True))
            parts = []
            score = ssdeep.explain(*pairs[0])
            if score.score >= threshold:
                grams = [each.gram for each in score.compared if each.gram]
                parts.append(f"ssdeep {score.score}" + (f" (7-gram {grams[0]})" if grams else ""))
            if all(pairs[1]) and (apart := tlsh.explain(*pairs[1])).distance <= distance:
                parts.append(f"tlsh {apart.distance} ({apart.equal_buckets} equal buckets)")
            evidence = ", ".join(parts)
        own: list[str | int | None] = [path, *digests[path], evidence]
        number = int(groups[path]["cluster"]) + 1 if path in groups else None
        rows.append([number, *(value or None for value in own)] if as_json else [number or "-", *own])
    print_rows(["group", "path", "ssdeep", "tlsh", "evidence"], rows, as_json=as_json)
    failures.exit(matched=bool(groups))
