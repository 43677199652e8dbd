#!/bin/sh
# Stands for a binary that never gets ready.
exec cat > /dev/null
