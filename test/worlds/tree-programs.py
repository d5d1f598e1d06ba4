"""Programs that change a tree while it is looked at. Each prints a line once it is at work."""
import ctypes
import mmap
import os
import socket
import sys
import time


def ready():
    os.write(1, b"ready\n")


def exchange(left, right):
    """Swaps two names, atomically and without an end."""
    libc = ctypes.CDLL(None, use_errno=True)
    cwd, swap = -100, 2
    left, right = os.fsencode(left), os.fsencode(right)
    if libc.renameat2(cwd, left, cwd, right, swap) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    ready()
    while True:
        for _ in range(2000):
            libc.renameat2(cwd, left, cwd, right, swap)


def away(inside, outside):
    """Moves a directory out of the tree and back, without an end."""
    ready()
    while True:
        os.rename(inside, outside)
        os.rename(outside, inside)


def grow(path):
    """Appends without an end."""
    with open(path, "ab", buffering=0) as file:
        file.write(b"x" * 65536)
        ready()
        while True:
            file.write(b"x" * 65536)
            time.sleep(0.0005)
            if os.fstat(file.fileno()).st_size > 500_000_000:
                file.truncate(0)


def shrink(path):
    with open(path, "r+b", buffering=0) as file:
        ready()
        while True:
            file.truncate(0)
            file.truncate(300_000)


def overwrite(path):
    with open(path, "r+b", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        ready()
        while True:
            for letter in (b"a", b"b"):
                os.pwrite(file.fileno(), letter * size, 0)


def replace(path):
    """Puts another file in its place, without an end."""
    ready()
    while True:
        with open(path + ".new", "wb") as file:
            file.write(b"y" * 300_000)
        os.rename(path + ".new", path)


def unlink(path):
    """Removes a file and makes it again, without an end."""
    ready()
    while True:
        os.unlink(path)
        with open(path, "wb") as file:
            file.write(b"z" * 300_000)


def waiting_writer(path):
    """Waits for a reader; says so if one ever came."""
    ready()
    fd = os.open(path, os.O_WRONLY)
    os.write(1, b"opened\n")
    os.write(fd, b"NEEDLE")


def unix_socket(path):
    listener = socket.socket(socket.AF_UNIX)
    os.chdir(os.path.dirname(path))
    listener.bind(os.path.basename(path))
    listener.listen()
    ready()
    time.sleep(600)


def deep(path, levels, width):
    """Nests directories of one letter, `width` at each level, with a file at the bottom."""
    os.chdir(path)
    for _ in range(int(levels)):
        for each in range(1, int(width)):
            os.mkdir(chr(ord("d") + each))
        os.mkdir("d")
        os.chdir("d")
    with open("bottom.txt", "w") as file:
        file.write("NEEDLE")


def many(path, count):
    """Fills one directory with names of one file: much faster than as many files."""
    os.mkdir(path)
    folder = os.open(path, os.O_RDONLY)
    one = os.open("first", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=folder)
    os.write(one, b"clean")
    os.close(one)
    for index in range(int(count) - 1):
        os.link("first", f"f{index}", src_dir_fd=folder, dst_dir_fd=folder)


def files(path, count, per_directory):
    """Makes files in directories of so many."""
    for index in range(int(count)):
        name, place = divmod(index, int(per_directory))
        if place == 0:
            os.makedirs(f"{path}/{name}")
            folder = os.open(f"{path}/{name}", os.O_RDONLY)
        os.mknod(f"f{place}", 0o644, dir_fd=folder)
        if place == int(per_directory) - 1:
            os.close(folder)


def mapped(path):
    """Dirties a mapped page, and stores to it again for each line that is read."""
    fd = os.open(path, os.O_RDWR)
    view = mmap.mmap(fd, 4096)
    view[0:5] = b"first"
    os.stat(path)
    ready()
    for line in sys.stdin:
        text = line.strip().encode()
        view[0 : len(text)] = text
        ready()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
