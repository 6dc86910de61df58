"""Drop-in modules for programs written for another package: change the import and keep the rest.

Each module is named after its package and has the package's names, arguments, values and errors, over nearkin's core.
Import it directly, as in `from nearkin.compat.simhash import Simhash`. The header of each module lists the differences.
"""
