#!/bin/sh
# What changed under ROOT while COMMAND ran: delta.sh ROOT SCRATCH COMMAND...
set -eu
root=$1
scratch=$2
shift 2

manifest() {
  (
    cd "$root"
    # One walk gives both lists: metadata of everything, digests of the regular files.
    find . -fprintf "$scratch/$1.meta" '%p\t%y\t%D:%i\t%s\t%m\t%U:%G\t%T@\t%C@\t%l\n' -type f -print0 |
      xargs -0 -r sha256sum >"$scratch/$1.sums"
  )
}

manifest before
"$@"
manifest after
diff "$scratch/before.meta" "$scratch/after.meta" >"$scratch/meta.diff" || [ $? = 1 ]
diff "$scratch/before.sums" "$scratch/after.sums" || [ $? = 1 ]
