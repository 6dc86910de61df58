"""Drop-in modules for programs that were written for another package: change the import, keep the rest.

Each module has the names, arguments, values and errors of the package that it is named after, over nearkin's core, and
is imported by itself, as `from nearkin.compat.simhash import Simhash`. What differs stands in the module's header.
"""
