"""Which files below ROOT hold TEXT, with a record of each: content-written.py ROOT TEXT

Walks with os.scandir, opens each file without blocking, asks the open handle where
it is, and takes size, time, digest and text from that handle alone.
"""

import hashlib
import json
import os
import stat
import sys

CHUNK_BYTES = 64 * 1024
OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def walk(root, gaps):
    pending = [root]
    while pending:
        directory = pending.pop()
        try:
            with os.scandir(directory) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            gaps.append({"code": "listing_failed", "location": directory, "detail": str(error)})
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
            else:
                yield entry.path


def read_entry(root_prefix, path, text, gaps):
    try:
        handle = os.open(path, OPEN_FLAGS)
    except OSError as error:
        gaps.append({"code": "read_failed", "location": path, "detail": str(error)})
        return None
    try:
        if not os.readlink(f"/proc/self/fd/{handle}").startswith(root_prefix):
            gaps.append({"code": "link_outside_root", "location": path})
            return None
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            gaps.append({"code": "not_a_file", "location": path})
            return None
        digest = hashlib.sha256()
        chunks = []
        while chunk := os.read(handle, CHUNK_BYTES):
            digest.update(chunk)
            chunks.append(chunk)
    except OSError as error:
        gaps.append({"code": "read_failed", "location": path, "detail": str(error)})
        return None
    finally:
        os.close(handle)
    try:
        holds_text = text in b"".join(chunks).decode("utf-8")
    except UnicodeDecodeError:
        gaps.append({"code": "not_text", "location": path})
        holds_text = None
    return {
        "path": path,
        "sizeBytes": status.st_size,
        "sha256": digest.hexdigest(),
        "modifiedAtNs": status.st_mtime_ns,
        "holdsText": holds_text,
    }


def main(root, text):
    root = os.path.realpath(root)
    gaps = []
    entries = []
    for path in walk(root, gaps):
        entry = read_entry(root + os.sep, path, text, gaps)
        if entry is not None:
            entries.append(entry)
    if any(entry["holdsText"] for entry in entries):
        verdict = "upheld"
    else:
        verdict = "undetermined" if gaps else "refuted"
    # dumps, not dump: only the former uses the C encoder.
    sys.stdout.write(json.dumps({"verdict": verdict, "entries": entries, "gaps": gaps}))


main(*sys.argv[1:])
