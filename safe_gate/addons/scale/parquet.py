"""Shell: rows of a Parquet file as lines of JSON, so that readers of cases know one form. Reads an open file.

`pyarrow` is an extra, imported only for such a file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from safe_gate.model.problems import reason

if TYPE_CHECKING:
    import pyarrow

_BYTES, _ROWS = 1 << 20, 50
"""The bytes of a file and the rows that memory holds at once."""

_MOST_UNPACKED, _MOST_RATIO = 128 << 20, 100
"""The bytes that pages may hold in any case, and how many times their packed size."""


class NotReadable(Exception):
    """A file is not Parquet, or JSON cannot express a row. The message says why."""


def read_rows(file: BinaryIO, *, is_import: bool = False) -> Iterator[str | NotReadable]:
    """Yield each row of a file as the text of a JSON object, or why that is not possible.

    A null column or struct field is left out, as in JSON. A null entry of a map stays. For an import, a null column
    stays too, and NaN stands for a value that JSON cannot hold, such as a time. Raises NotReadable, and
    ModuleNotFoundError if `pyarrow` is not installed.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        # One thread and no reading ahead: memory does not grow with the file.
        table = pyarrow.parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BYTES)
        groups = [table.metadata.row_group(index) for index in range(table.num_row_groups)]
        held = sum(one.column(index).total_compressed_size for one in groups for index in range(one.num_columns))
        size = sum(one.total_byte_size for one in groups)
        if size > _MOST_UNPACKED and size > _MOST_RATIO * held:
            raise NotReadable(f"it expands from {held} bytes to {size}")
        for batch in table.iter_batches(batch_size=_ROWS, use_threads=False):
            yield from (_line(batch, index, is_import=is_import) for index in range(batch.num_rows))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise NotReadable(reason(error)) from None


def _line(batch: pyarrow.RecordBatch, index: int, *, is_import: bool) -> str | NotReadable:
    import pyarrow

    # Text that is not UTF-8 or a date beyond the calendar, a value of another kind, two entries of one name.
    unsayable = (pyarrow.ArrowException, ValueError, OverflowError, TypeError, KeyError)
    pairs = []
    for field, column in zip(batch.schema, batch, strict=True):
        try:
            value = _without_null_fields(column[index].as_py(maps_as_pydicts="strict"), field.type)
            if value is not None or is_import:
                text = json.dumps(value, default=(lambda _: math.nan) if is_import else None)
                pairs.append(f"{json.dumps(field.name)}:{text}")
        except unsayable as error:
            return NotReadable(f"{field.name}: {reason(error)}")
    # Joined, not a dictionary: whoever parses the line sees both of two columns with one name.
    return "{" + ",".join(pairs) + "}"


def _without_null_fields(value: Any, kind: pyarrow.DataType) -> Any:
    """Return a value without the fields of structs that are null."""
    import pyarrow

    if value is not None and pyarrow.types.is_struct(kind):
        fields = {name: _without_null_fields(inner, kind.field(name).type) for name, inner in value.items()}
        return {name: inner for name, inner in fields.items() if inner is not None}
    if value is not None and (pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind)):
        return [_without_null_fields(one, kind.value_type) for one in value]
    if value is not None and pyarrow.types.is_map(kind):
        return {name: _without_null_fields(one, kind.item_type) for name, one in value.items()}
    return value
