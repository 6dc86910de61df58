"""Search: an index for each kind of value, exact or with a stated probability, under one contract."""
