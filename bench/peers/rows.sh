#!/bin/sh
# The delta of a table by its whole content: rows.sh URL SCRATCH COMMAND...
set -eu
url=$1 scratch=$2
shift 2
dump() { psql -qXAt "$url" -c "COPY (SELECT * FROM orders ORDER BY id) TO STDOUT" > "$scratch/$1"; }
dump before
"$@"
dump after
diff "$scratch/before" "$scratch/after" || test $? -eq 1
