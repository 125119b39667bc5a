#!/bin/sh
# Runs in the guest: every check of the fabric, over rc_verbs.
# An emulated machine stands still for seconds where its host is busy, which is no death: the fabric's own
# limits (100 ms, 3 tries, 4 s) would take it for one. The end of the TCP connection tells of real ones.
export UCX_RC_TIMEOUT=2s UCX_RC_RETRY_COUNT=7 UCX_UD_TIMEOUT=60s
FARCACHE_TEST_LANE=rc_verbs farcache-conformance --transport fabric --large-mb 64
