#!/bin/sh
# Digests of all files below ROOT that hold TEXT: search-and-hash.sh ROOT TEXT
set -eu
# -uuu: nothing is ignored, as upheld ignores nothing.
rg --no-config -uuu --files-with-matches --fixed-strings --null -e "$2" -- "$1" | xargs -0 -r sha256sum
