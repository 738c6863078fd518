"""Files of experiments on clocks and synchronizers: their context, and what each variable is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from downbeat.data.launch_file import open_launch, open_netcdf
from downbeat.errors import reading
from downbeat.show import aligned

if TYPE_CHECKING:
    import xarray as xr

SCHEMA_VERSION = 1  # of the record


def is_dataset(path: Path) -> bool:
    """Whether a path is a file of an experiment on clocks or synchronizers, without operations."""
    if not path.is_file():
        return False
    with open_netcdf(path) as file:
        return "cell_index" not in file.variables


def dataset_lines(path: Path) -> list[str]:
    """Returns lines that say what a file holds; of a variable with one value, the value."""
    with reading(path):
        return lines_of(open_launch(path))


def lines_of(data: xr.Dataset) -> list[str]:
    """Returns `dataset_lines` of a file that is open."""
    sizes = [["dimension", "size"], *([str(name), str(size)] for name, size in data.sizes.items())]
    variables = [["variable", "dimensions", "unit", "meaning"]]
    for name, variable in data.variables.items():
        one = variable.size == 1
        last = str(variable.values.item()) if one else str(variable.attrs.get("long_name", ""))
        variables.append([str(name), ", ".join(map(str, variable.dims)), str(variable.attrs.get("units", "")), last])
    head = [f"{data.attrs['title']}, {data.attrs['date']}", f"  MPI  {data.attrs['mpi_library']}", ""]
    tables = [*aligned(sizes, (True, False)), "", *aligned(variables, (True,) * 4)]
    return [*head, *(line.rstrip() for line in tables)]


def dataset_record(path: Path) -> dict[str, object]:
    """Returns the content of a file for programs: attributes, then variables with dimensions, unit, meaning, values."""
    with reading(path):
        return record_of(open_launch(path))


def record_of(data: xr.Dataset) -> dict[str, object]:
    """Returns `dataset_record` of a file that is open."""
    return {
        "schema_version": SCHEMA_VERSION,
        "attributes": dict(data.attrs),
        "dimensions": {str(name): size for name, size in data.sizes.items()},
        "variables": {
            str(name): {
                "dimensions": [str(one) for one in variable.dims],
                "unit": str(variable.attrs.get("units", "")),
                "meaning": str(variable.attrs.get("long_name", "")),
                "values": variable.astype(str).values if variable.dtype.kind in "OSU" else variable.values,
            }
            for name, variable in data.variables.items()
        },
    }
