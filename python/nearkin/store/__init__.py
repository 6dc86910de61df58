"""A collection of documents on disk that answers "is this one new?" and remembers it: `Store`.

| file | holds |
|---|---|
| `base` | `Store`: the calls |
| `settings` | what a store is made for: recipe, threshold, what is kept of texts |
| `files` | the same for files, by their digests |
| `vectors` | the same for vectors; `vector_search` finds and verifies their candidates |
| `kinds` | settings of each kind, made from arguments and read again |
| `answers` | what the calls return |
| `decide` | which documents of a batch are new: the stages of `nearkin.dedup` over what is on disk |
| `single` | the same for one document alone, in a third of the time |
| `view` | the documents as they stood at one moment, by row |
| `waiting` | documents that lie in the log alone, and their index in memory |
| `parts` | a segment: documents and index in immutable files |
| `families` | how the values of each family are stored and searched |
| `log` | the small mutable truth in SQLite: waiting documents, removals, the list of segments, settings |
| `merging` | from log to segment, and from segments to fewer |
| `checking` | verification and repair |
| `texts` | what verifies matches where no texts are kept: feature hashes, texts of the caller's |
| `memory` | what a store may hold, and texts on disk while they are merged |
| `outputs` | folders of output that came with a commit and take their place after it |
"""
