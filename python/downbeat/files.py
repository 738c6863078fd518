"""Writes files atomically and with checksums, and locks directories.

A .nc file of downbeat-bench ends with a seal, its checksum; a JSON file has its checksum in the field `FIELD`.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import fcntl
import functools
import gzip
import json
import os
import re
import socket
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from downbeat.errors import DownbeatError, UsageError, reading

# The seal at the end of a .nc file: the checksum of all preceding bytes.
SEAL = re.compile(rb"DOWNBEAT-CRC32:([0-9a-f]{8})\n")
SEAL_BYTES = 24
CHUNK_BYTES = 1 << 20  # read at a time
# Field of a JSON object with the checksum of the other fields.
FIELD = "crc32"


class DamageError(ValueError):
    """The content of a file does not match its checksum."""

    def __init__(self) -> None:
        super().__init__("its checksum does not match its content")


@functools.lru_cache
def check_sealed(path: Path, size: int, changed: int) -> None:
    """Checks a file against the seal at its end; a file without seal is accepted.

    Args:
        path: the file.
        size: in bytes.
        changed: time of the last change, ns; part of the cache key, so that a file is read once per change.

    Raises:
        DamageError: the content does not match the checksum.
    """
    del changed
    with path.open("rb") as file:
        file.seek(max(0, size - SEAL_BYTES))
        seal = SEAL.fullmatch(file.read())
        if not seal:
            return
        file.seek(0)
        left, checksum = size - SEAL_BYTES, 0
        while left > 0:
            chunk = file.read(min(left, CHUNK_BYTES))
            if not chunk:
                break
            checksum = zlib.crc32(chunk, checksum)
            left -= len(chunk)
    if left or checksum != int(seal[1], 16):
        raise DamageError


def checksum_of(content: Mapping[str, object]) -> str:
    """Returns the checksum of an object of JSON, independent of the order of fields and of white space."""
    return f"{zlib.crc32(json.dumps(content, sort_keys=True).encode()):08x}"


def with_checksum(content: Mapping[str, object]) -> dict[str, object]:
    """Returns an object of JSON with its checksum."""
    # The content that a reader gets: keys are texts, tuples are lists.
    as_read: dict[str, object] = json.loads(json.dumps(content))
    return as_read | {FIELD: checksum_of(as_read)}


def without_checksum(content: Mapping[str, object]) -> dict[str, object]:
    """Checks the checksum of an object of JSON, and removes it; an object without checksum is accepted.

    Raises:
        DamageError: the content does not match the checksum.
    """
    fields = {name: value for name, value in content.items() if name != FIELD}
    if FIELD in content and content[FIELD] != checksum_of(fields):
        raise DamageError
    return fields


# Errors of fsync on file systems that do not support it for files or directories.
NO_FSYNC = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


@contextlib.contextmanager
def replacing(path: Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Opens a file, text in UTF-8 by default, to replace its content atomically.

    The new content goes to a new file in the same directory, which is renamed once it is on disk; if writing fails, the
    old file stays. If the path is the user's own link, its target is replaced. `-` is standard output. A pipe or a
    device is written directly.

    Raises:
        DownbeatError: the file cannot be written, or is a link of another user.
    """
    if is_standard_output(path):
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return
    target = target_of(path)
    kind, encoding = ("b", None) if binary else ("", "utf-8")
    if path.exists() and not path.is_file():
        # The opener does not create a file if the device has disappeared.
        with (
            writing(path),
            open(path, f"w{kind}", encoding=encoding, opener=lambda name, _flags: os.open(name, os.O_WRONLY)) as file,
        ):
            yield file
        return
    temporary = target.with_name(f"{target.name}.new")
    try:
        with writing(target):
            temporary.unlink(missing_ok=True)
            with temporary.open(f"x{kind}", encoding=encoding) as file:
                yield file
                file.flush()
                to_disk(file.fileno())
            temporary.replace(target)
            synchronize(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def zipped(file: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """Yields a stream that writes to an open file, compressed if the path ends in .gz."""
    if path.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=1, mtime=0) as out:
        yield out  # type: ignore[misc]


def write_text(path: Path, text: str) -> None:
    """Replaces the content of a file by a text (`replacing`)."""
    with replacing(path) as file:
        file.write(text)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Adds the path to system errors of writing, synchronizing or closing a file.

    Raises:
        DownbeatError: the block failed with an OSError.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None and not str(error.filename).startswith(str(path)):
            raise
        raise DownbeatError(f"cannot write '{path}': {error.strerror or error}") from error


def target_of(path: Path) -> Path:
    """Returns the path of the file to write: the target if the path is the user's own link.

    Raises:
        UsageError: the path is a link of another user.
    """
    refuse_link_of_another(path)
    return path.resolve() if path.is_symlink() else path


def refuse_link_of_another(path: Path) -> None:
    """Refuses a link made by another user; the user's own links are accepted.

    Raises:
        UsageError: the path is a link of another user.
    """
    if path.is_symlink() and path.parent != Path("/dev") and path.lstat().st_uid != os.geteuid():
        raise UsageError(f"'{path}' is a link that another user has made; remove it, or give another path (-o)")


def is_standard_output(path: Path | None) -> bool:
    """Returns true if a path on the command line stands for standard output."""
    return path in (Path("-"), Path("/dev/stdout"))


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # UTF-32 begins like one of them, or with two zeros


def read_own_text(path: Path) -> str:
    """Returns the text of a file written by a user, in UTF-8, without byte order mark.

    Raises:
        OSError, UnicodeDecodeError: the file cannot be read.
        UsageError: the file is in UTF-16 or UTF-32.
    """
    content = path.read_bytes()
    if content.startswith((*UTF_16, codecs.BOM_UTF32_BE)):
        raise UsageError(f"'{path}' is not in UTF-8, but in UTF-16 or UTF-32, by its byte order mark; save it as UTF-8")
    return content.removeprefix(codecs.BOM_UTF8).decode()


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file, without its checksum.

    Raises:
        UsageError: the file is damaged.
    """
    with reading(path):
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not an object")
        return without_checksum(content)


def write_checked_json(path: Path, content: Mapping[str, object]) -> None:
    """Writes an object of JSON with its checksum, which `read_json` checks."""
    write_json(path, with_checksum(content))


def write_json(path: Path, content: object) -> None:
    """Replaces the content of a file by JSON (`replacing`)."""
    write_text(path, json.dumps(content, indent=2) + "\n")


def synchronize(path: Path) -> None:
    """Flushes a file or a directory to disk."""
    with writing(path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            to_disk(descriptor)
        finally:
            os.close(descriptor)


def to_disk(descriptor: int) -> None:
    """Flushes an open file to disk, if the file system supports it."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_FSYNC:
            raise


def move(source: Path, target: Path) -> None:
    """Moves a directory atomically, after flushing all its files to disk."""
    for path in [*source.iterdir(), source]:
        synchronize(path)
    target.parent.mkdir(exist_ok=True)
    source.rename(target)
    synchronize(target.parent)


# Files in a locked directory. The lock is an advisory lock on the first one.
LOCK = "lock"
# On file systems without locks (Lustre without the mount option flock, NFS without lock service): a file that names the
# process that holds the directory.
HOLDER = "lock.holder"
# Errors of flock on these.
NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)
# A killed run releases the directory once its launch has ended, which takes some seconds.
PATIENCE_SECONDS = 15.0


@contextlib.contextmanager
def locked(directory: Path, who: str = "run", patience: float | None = None) -> Iterator[int]:
    """Creates a directory and holds its lock; yields the file descriptor.

    A process that inherits the descriptor holds the lock too, so that no other run begins before a launch has ended.

    Args:
        directory: of an experiment or a build.
        who: description of holders, for the error.
        patience: seconds to wait for the lock; None: `PATIENCE_SECONDS`.

    Raises:
        UsageError: the lock file is a link of another user.
        DownbeatError: another process holds the lock.
    """
    deadline = time.monotonic() + (PATIENCE_SECONDS if patience is None else patience)
    while True:
        directory.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as held:
            # O_NOFOLLOW, and nothing is written: another user of the directory may have made the lock file a link.
            file = os.open(target_of(directory / LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            held.callback(os.close, file)
            try:
                if not lock_file(file):
                    held.enter_context(holder(directory / HOLDER))
            except (BlockingIOError, FileExistsError) as error:
                if time.monotonic() > deadline:
                    raise DownbeatError(f"another {who} is using '{directory}'{remedy(directory / HOLDER)}") from error
                time.sleep(0.1)
                continue
            # The previous holder may have removed the lock file, and another run may hold a new one.
            if os.fstat(file).st_nlink == 0:
                continue
            yield file
            return


def in_use(directory: Path) -> bool:
    """Returns true if another process holds the lock (`locked`) of a directory; changes no file."""
    if (directory / HOLDER).exists():
        return True
    try:
        file = os.open(directory / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no locks on this file system, or the file cannot be locked
        return False
    finally:
        os.close(file)
    return False


def lock_file(file: int) -> bool:
    """Locks an open file; returns false if its file system does not support locks.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    return True


@contextlib.contextmanager
def holder(path: Path) -> Iterator[None]:
    """Creates a file that names this process, and removes it at the end of the block.

    Raises:
        FileExistsError: the file exists.
    """
    with path.open("x", encoding="utf-8") as file:
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def remedy(path: Path) -> str:
    """Text for an error: the holder, and the file to remove if the holder was killed; "" without such a file."""
    with contextlib.suppress(OSError):
        return f": {path.read_text(encoding='utf-8', errors='replace')}; if it has ended, remove '{path}'"
    return ""
