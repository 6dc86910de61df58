"""The name `nearkin.ssdeep` of the module `nearkin.digests.ssdeep`, so that `import nearkin.ssdeep` finds it."""

import sys

from nearkin.digests import ssdeep
from nearkin.digests.ssdeep import *  # noqa: F403 - for type checkers.

sys.modules[__name__] = ssdeep
