"""Files: written as a whole, with a checksum in them, and read again."""

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

# At the end of a .nc file: the checksum of all before it.
SEAL = re.compile(rb"DOWNBEAT-CRC32:([0-9a-f]{8})\n")
SEAL_BYTES = 24
READ_BYTES = 1 << 20
# In an object of JSON, the last field.
FIELD = "crc32"


class DamageError(ValueError):
    """The content differs from the written one."""

    def __init__(self) -> None:
        super().__init__("its checksum is that of another content")


@functools.lru_cache
def check_sealed(path: Path, size: int, changed: int) -> None:
    """Checks a file against the checksum at its end; one that has none is taken as it is.

    Args:
        path: the file.
        size: in bytes.
        changed: time of its last change, ns. A file is opened many times, and read whole once per change.

    Raises:
        DamageError: the content is another one.
    """
    del changed
    with path.open("rb") as file:
        file.seek(max(0, size - SEAL_BYTES))
        seal = SEAL.fullmatch(file.read())
        if not seal:
            return
        file.seek(0)
        left, found = size - SEAL_BYTES, 0
        while left > 0:
            part = file.read(min(left, READ_BYTES))
            if not part:
                break
            found = zlib.crc32(part, found)
            left -= len(part)
    if left or found != int(seal[1], 16):
        raise DamageError


def checksum_of(content: Mapping[str, object]) -> str:
    """Returns the checksum of an object of JSON, whatever the order of its fields and its spaces."""
    return f"{zlib.crc32(json.dumps(content, sort_keys=True).encode()):08x}"


def with_checksum(content: Mapping[str, object]) -> dict[str, object]:
    """Returns an object of JSON with its checksum."""
    whole: dict[str, object] = json.loads(json.dumps(content))  # as it will be read: keys are texts, tuples are lists
    return whole | {FIELD: checksum_of(whole)}


def without_checksum(content: Mapping[str, object]) -> dict[str, object]:
    """Returns an object of JSON without its checksum; one that has none is taken as it is.

    Raises:
        DamageError: the content is another one.
    """
    rest = {name: value for name, value in content.items() if name != FIELD}
    if FIELD in content and content[FIELD] != checksum_of(rest):
        raise DamageError
    return rest


# Errors of file systems without fsync, for files or for directories.
NO_FSYNC = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


@contextlib.contextmanager
def replacing(path: Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Opens a file, text in UTF-8 by default, to be written in place of what it held before.

    The new content goes to a new file beside it, which takes the name once all is on disk; if writing fails, the old
    file stays. Your own link stays, and its target is replaced. `-` is standard output. A pipe or a device cannot be
    replaced and is written directly.

    Raises:
        DownbeatError: the file cannot be written, or is a link that another user has made.
    """
    if is_standard_output(path):
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return
    target = target_of(path)
    kind, encoding = ("b", None) if binary else ("", "utf-8")
    if path.exists() and not path.is_file():
        with writing(path), open(path, f"w{kind}", encoding=encoding, opener=open_device) as file:
            yield file
        return
    beside = target.with_name(f"{target.name}.new")
    try:
        with writing(target):
            beside.unlink(missing_ok=True)
            with beside.open(f"x{kind}", encoding=encoding) as file:
                yield file
                file.flush()
                to_disk(file.fileno())
            beside.replace(target)
            synchronize(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def zipped(file: IO[bytes], path: Path) -> Iterator[IO[bytes]]:
    """Gives an open file to be written, gzip if its name ends in .gz."""
    if path.suffix != ".gz":
        yield file
        return
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=1, mtime=0) as out:
        yield out  # type: ignore[misc]


def write_text(path: Path, text: str) -> None:
    """Writes a text as `replacing` does."""
    with replacing(path) as file:
        file.write(text)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Names the file if writing, synchronizing or closing it fails: errors of the system do not.

    Raises:
        DownbeatError: it failed.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None and not str(error.filename).startswith(str(path)):
            raise
        raise DownbeatError(f"cannot write '{path}': {error.strerror or error}") from error


def open_device(path: str, _flags: int) -> int:
    """Opens a device; creates no file if it has gone meanwhile."""
    return os.open(path, os.O_WRONLY)


def target_of(path: Path) -> Path:
    """Returns the file that a path names, the target if it is your own link.

    Raises:
        UsageError: it is a link that another user has made.
    """
    refuse_link_of_another(path)
    return path.resolve() if path.is_symlink() else path


def refuse_link_of_another(path: Path) -> None:
    """Refuses a link that another user has made; your own links are followed.

    Raises:
        UsageError: it is such a link.
    """
    if path.is_symlink() and path.parent != Path("/dev") and path.lstat().st_uid != os.geteuid():
        raise UsageError(f"'{path}' is a link that another user has made; remove it, or give another path (-o)")


def is_standard_output(path: Path | None) -> bool:
    """Whether a path given on a command line means standard output."""
    return path in (Path("-"), Path("/dev/stdout"))


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # UTF-32 begins like one of them, or with two zeros


def read_own_text(path: Path) -> str:
    """Returns a text that a user wrote, in UTF-8, without its byte order mark.

    Raises:
        OSError, UnicodeDecodeError: it cannot be read.
        UsageError: it is in UTF-16 or UTF-32.
    """
    content = path.read_bytes()
    if content.startswith((*UTF_16, codecs.BOM_UTF32_BE)):
        raise UsageError(f"'{path}' is not in UTF-8, but in UTF-16 or UTF-32, by its byte order mark; save it as UTF-8")
    return content.removeprefix(codecs.BOM_UTF8).decode()


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file.

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
    """Writes JSON as `replacing` does."""
    write_text(path, json.dumps(content, indent=2) + "\n")


def synchronize(path: Path) -> None:
    """Writes a file, or the names in a directory, to disk."""
    with writing(path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            to_disk(descriptor)
        finally:
            os.close(descriptor)


def to_disk(descriptor: int) -> None:
    """Writes an open file to disk, if the file system supports it."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_FSYNC:
            raise


def move(source: Path, target: Path) -> None:
    """Moves a directory; all of its files are on disk before it appears under its new name."""
    for path in [*source.iterdir(), source]:
        synchronize(path)
    target.parent.mkdir(exist_ok=True)
    source.rename(target)
    synchronize(target.parent)


LOCK = "lock"
# Where the file system has no locks (Lustre without the mount option flock, NFS without its lock service): a file that
# names its maker.
HOLDER = "lock.holder"
NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)
# A run that was killed leaves the directory once its launch has been ended, which takes some seconds.
PATIENCE_SECONDS = 15.0


@contextlib.contextmanager
def locked(directory: Path, who: str = "run", patience: float | None = None) -> Iterator[int]:
    """Creates a directory and holds its lock; yields the file descriptor.

    A process that inherits the descriptor holds the lock too, so that no other run begins while a launch is ended.

    Args:
        directory: of an experiment, of a build.
        who: holds it, for the error.
        patience: seconds to wait for it, `PATIENCE_SECONDS` by default.

    Raises:
        UsageError: it is a link that another user has made.
        DownbeatError: another one holds it.
    """
    deadline = time.monotonic() + (PATIENCE_SECONDS if patience is None else patience)
    while True:
        directory.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as held:
            # Nothing is written: another user of the directory could have put a link to another file there.
            file = os.open(target_of(directory / LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            held.callback(os.close, file)
            try:
                if not take(file):
                    held.enter_context(holder(directory / HOLDER))
            except (BlockingIOError, FileExistsError) as error:
                if time.monotonic() > deadline:
                    raise DownbeatError(f"another {who} is using '{directory}'{remedy(directory / HOLDER)}") from error
                time.sleep(0.1)
                continue
            # The last holder may have removed it meanwhile, and another run may hold a new one.
            if os.fstat(file).st_nlink == 0:
                continue
            yield file
            return


def in_use(directory: Path) -> bool:
    """Whether another process holds the lock of a directory, as `locked` takes it; nothing is written."""
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
    except OSError:  # no locks there, or no file that can be locked
        return False
    finally:
        os.close(file)
    return False


def take(file: int) -> bool:
    """Locks an open file; returns whether its file system can.

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
    """Makes a file that says who made it, and removes it.

    Raises:
        FileExistsError: another one is there.
    """
    with path.open("x", encoding="utf-8") as file:
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def remedy(path: Path) -> str:
    """Returns what to do about a file that a holder left, if there is one: it stays when its maker is killed."""
    with contextlib.suppress(OSError):
        return f": {path.read_text(encoding='utf-8', errors='replace')}; if it has ended, remove '{path}'"
    return ""
