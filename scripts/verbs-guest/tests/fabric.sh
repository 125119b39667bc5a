#!/bin/sh
# Runs in the guest: every check of the fabric, over rc_verbs.
FARCACHE_TEST_LANE=rc_verbs farcache-conformance --transport fabric --large-mb 64
