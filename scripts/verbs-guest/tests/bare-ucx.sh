#!/bin/sh
# Runs in the guest: the tests of bare-ucx over real verbs. They choose shared memory and tcp by
# themselves, but what the environment says goes before that.
export FARCACHE_TEST_LANE=rc_verbs
# With UCX's own limits a dead peer is not noticed within 25 s.
export UCX_RC_TIMEOUT=100ms UCX_RC_RETRY_COUNT=3 UCX_UD_TIMEOUT=4s

# With endpoints kept alive by messages of its own, UCX 1.13 aborts when one is closed before it is
# wired up (docs/journal/2026-11-22-closing-before-wire-up.md). Without, UCX notices no death of an idle peer.
noticed=a_peer_that_is_gone_is_noticed_and_nothing_is_sent_to_it
status=0
export UCX_KEEPALIVE_INTERVAL=inf
messages --test-threads=1 --skip "$noticed" || status=1
memory --test-threads=1 || status=1
export UCX_KEEPALIVE_INTERVAL=1s
messages --test-threads=1 "$noticed" || status=1
exit $status
