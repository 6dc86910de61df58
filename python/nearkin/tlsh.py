"""The name `nearkin.tlsh` of the module `nearkin.digests.tlsh`, so that `import nearkin.tlsh` finds it."""

import sys

from nearkin.digests import tlsh
from nearkin.digests.tlsh import *  # noqa: F403 - for type checkers.

sys.modules[__name__] = tlsh
