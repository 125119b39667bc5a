"""Odd inputs, sent to the server under test and to memcached, whose replies must be the same."""
