"""Reads the MPI ABI of a shared object from its ELF symbols, independent of the file name.

An MPI library defines all functions; a profiling tool only those it wraps: MPI_Init, and PMPI_Init to allow other tools
before it. A symbol specific to each ABI identifies it; the version in DT_SONAME must agree. Objects of the wheel, which
need no library by name, have an ELF note (packaging/wheel/abi_note.c).
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from pathlib import Path

# ABI -> symbol that identifies it, and number in the interface name (libmpi.so.40, libmpi.so.12, libmpi_abi.so.1). The
# symbols stand for MPI_COMM_SELF and MPI_DUP_FN. Other libraries may also define the function of the standard ABI, so
# it is tried last.
MARKS = {"openmpi": ("ompi_mpi_comm_self", 40), "mpich": ("MPIR_Dup_fn", 12), "abi": ("MPI_Abi_get_version", 1)}
# Interface name of an MPI library -> its ABI, if the file of the library is missing. Debian renames MPICH's library.
NEEDED = {"libmpi.so.40": "openmpi", "libmpi.so.12": "mpich", "libmpich.so.12": "mpich", "libmpi_abi.so.1": "abi"}

IN_EVERY_LIBRARY = ("PMPI_Init", "PMPI_Get_version")  # profiling tools do not define the second

# From elf.h: types of segments, tags of the dynamic section, and sizes of entries.
LOAD, DYNAMIC, NOTE = 1, 2, 4
HASH, STRTAB, SYMTAB, SONAME, GNU_HASH, DT_NEEDED = 4, 5, 6, 14, 0x6FFFFEF5, 1
DYNAMIC_BYTES, SYMBOL_BYTES, NOTE_HEADER_BYTES = 16, 24, 12
# Errors that reading a damaged file may raise.
DAMAGES = (struct.error, KeyError, IndexError, OverflowError, ZeroDivisionError)


class SharedObject:
    """A 64-bit ELF file with a dynamic section, read by program headers like the loader.

    Raises:
        ValueError: the file is something else, or damaged.
        OSError: the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # ValueError if empty
        if self.data[:5] != b"\x7fELF\x02":
            raise ValueError(f"'{path}' is not a 64-bit ELF file")
        self.order = "<" if self.data[5] == 1 else ">"  # byte order, for struct
        try:
            (table,) = self.unpack("Q", 0x20)  # e_phoff: offset of the program headers
            size, count = self.unpack("HH", 0x36)  # e_phentsize, e_phnum
            # Type, flags, offset, address, physical address, size in the file, size in memory, alignment.
            self.segments = [self.unpack("IIQQQQQQ", table + i * size) for i in range(count)]
            self.entries = list(self.dynamic())
            self.tags = dict(self.entries)
            self.strings = self.file_offset(self.tags[STRTAB])  # offset of the dynamic string table
            self.soname = self.text(self.tags[SONAME]) if SONAME in self.tags else ""
            self.needed = [self.text(value) for tag, value in self.entries if tag == DT_NEEDED]
        except DAMAGES as error:
            raise ValueError(f"'{path}' has no dynamic section that can be read") from error

    def unpack(self, form: str, offset: int) -> tuple[int, ...]:
        """Numbers at a file offset, in the file's byte order; `form` as for `struct`."""
        return struct.unpack_from(self.order + form, self.data, offset)

    def file_offset(self, address: int) -> int:
        """The file offset of a virtual address."""
        for kind, _, offset, begin, _, size, *_ in self.segments:
            if kind == LOAD and begin <= address < begin + size:
                return offset + address - begin
        raise IndexError(address)

    def dynamic(self) -> Iterator[tuple[int, int]]:
        """Yields tags and values of the dynamic section."""
        for kind, _, offset, _, _, size, *_ in self.segments:
            for entry in range(offset, offset + size, DYNAMIC_BYTES) if kind == DYNAMIC else ():
                tag, value = self.unpack("QQ", entry)
                if tag == 0:
                    return
                yield tag, value

    def text(self, offset: int) -> str:
        """The string at an offset of the dynamic string table."""
        begin = self.strings + offset
        return self.data[begin : self.data.find(b"\0", begin)].decode(errors="surrogateescape")

    def defines(self, name: str) -> bool:
        """Whether the object defines a dynamic symbol."""
        try:
            if GNU_HASH in self.tags:
                symbols = self.gnu_candidates(name.encode())
            else:
                symbols = self.system_v_candidates(name.encode())
            table = self.file_offset(self.tags[SYMTAB])
            for symbol in symbols:
                (text,) = self.unpack("I", table + symbol * SYMBOL_BYTES)
                (section,) = self.unpack("H", table + symbol * SYMBOL_BYTES + 6)
                if section != 0 and self.text(text) == name:  # section 0: only used, not defined
                    return True
        except DAMAGES:
            pass
        return False

    def gnu_candidates(self, name: bytes) -> Iterator[int]:
        """Yields indices of symbols with the hash of a name, from the GNU hash table; it has only defined symbols."""
        value = 5381
        for byte in name:
            value = (value * 33 + byte) & 0xFFFFFFFF
        table = self.file_offset(self.tags[GNU_HASH])
        # Header: number of buckets, first symbol in the table, number of 8-byte words of the Bloom filter, its shift.
        buckets, first, filter_words, _ = self.unpack("IIII", table)
        begin = table + 16 + 8 * filter_words
        (symbol,) = self.unpack("I", begin + 4 * (value % buckets)) if buckets else (0,)
        while symbol >= max(first, 1):
            (entry,) = self.unpack("I", begin + 4 * (buckets + symbol - first))
            if entry | 1 == value | 1:  # the hash, but for bit 0
                yield symbol
            if entry & 1:  # the last symbol of the bucket
                return
            symbol += 1

    def system_v_candidates(self, name: bytes) -> Iterator[int]:
        """Yields the indices of symbols in the bucket of a name, from the System V hash table."""
        value = 0
        for byte in name:
            value = (value << 4) + byte
            value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
        table = self.file_offset(self.tags[HASH])
        buckets, symbols = self.unpack("II", table)
        (symbol,) = self.unpack("I", table + 8 + 4 * (value % buckets))
        for _ in range(min(symbols, len(self.data) // SYMBOL_BYTES)):  # a damaged file may have a cycle
            if symbol == 0:
                return
            yield symbol
            (symbol,) = self.unpack("I", table + 8 + 4 * (buckets + symbol))

    def note(self) -> str:
        """The ABI in the wheel's ELF note; empty for other files."""
        for kind, _, begin, _, _, size, *_ in self.segments:
            note, end = begin, min(begin + size, len(self.data))
            while kind == NOTE and note + NOTE_HEADER_BYTES <= end:
                # Header (length of the owner's name, length of the text, type), then name and text, padded to 4 bytes.
                owner_length, text_length, _ = self.unpack("III", note)
                owner = note + NOTE_HEADER_BYTES
                text = owner + (owner_length + 3) // 4 * 4
                if self.data[owner : owner + owner_length] == b"downbeat\0":
                    return self.data[text : text + text_length].rstrip(b"\0").decode(errors="replace")
                note = text + (text_length + 3) // 4 * 4
        return ""


def read_object(path: Path) -> SharedObject | None:
    """The shared object in a file; None if the file cannot be read as one."""
    try:
        return SharedObject(path)
    except (OSError, ValueError):
        return None


def is_mpi(path: Path) -> bool:
    """Whether a file is an MPI library, of any ABI."""
    library = read_object(path)
    return library is not None and all(map(library.defines, IN_EVERY_LIBRARY))


def abi_of(path: Path) -> str | None:
    """The ABI of an MPI library: openmpi, mpich or abi (the standard one); None for other files."""
    library = read_object(path)
    if library is None or not all(map(library.defines, IN_EVERY_LIBRARY)):
        return None
    abi = next((abi for abi, (symbol, _) in MARKS.items() if library.defines(symbol)), None)
    number = re.search(r"\.so\.(\d+)", library.soname)  # None if the library was renamed: its symbol decides alone
    if abi is None or (number and int(number[1]) != MARKS[abi][1]):
        return None
    return abi
