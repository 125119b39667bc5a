#!/bin/sh
# Runs in guest 1: the server that guest 2 uses.
exec farcached -u root -l 10.99.0.1 -m 768 -I 80m --fabric require -v
