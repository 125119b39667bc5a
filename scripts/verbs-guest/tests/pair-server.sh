#!/bin/sh
# Runs in guest 1: the server that guest 2 uses.
# An emulated machine stands still for seconds where its host is busy, which is no death: the fabric's own
# limits (100 ms, 3 tries, 4 s) would take it for one. The end of the TCP connection tells of real ones.
export UCX_RC_TIMEOUT=2s UCX_RC_RETRY_COUNT=7 UCX_UD_TIMEOUT=60s
exec farcached -u root -l 10.99.0.1 -m 768 -I 80m --fabric require -v
