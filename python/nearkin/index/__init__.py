"""Indexes for every kind of value, exact or with a stated probability, under one contract."""
