"""Shell: rows of a Parquet file as lines of JSON, so that readers of cases know one form. Reads an open file.

`pyarrow` is an extra, imported only for such a file. Rows travel as Arrow's own stream, which costs almost nothing
to write. `read_lines` makes objects from them, which takes most of the time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from safe_gate.model.problems import reason

if TYPE_CHECKING:
    import pyarrow

_BYTES = 1 << 20
"""The bytes of a file or a batch that memory holds at once."""

_MOST_UNPACKED, _MOST_RATIO = 128 << 20, 100
"""The bytes that pages may hold in any case, and how many times their packed size."""


class NotReadable(Exception):
    """A file is not Parquet, or JSON cannot express a row. The message says why."""


def read_batches(file: BinaryIO, rows: int) -> Iterator[tuple[int, bytes]]:
    """Yield a file's rows in batches as Arrow's stream, each with its number of rows.

    Raises NotReadable, and ModuleNotFoundError if `pyarrow` is not installed.
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
        for batch in map(_decode_dictionaries, table.iter_batches(batch_size=rows, use_threads=False)):
            each = max(1, batch.num_rows * _BYTES // max(batch.nbytes, _BYTES))
            for few in (batch.slice(start, each) for start in range(0, batch.num_rows, each)):
                sink = pyarrow.BufferOutputStream()
                with pyarrow.ipc.new_stream(sink, few.schema) as stream:
                    stream.write_batch(few)
                yield few.num_rows, sink.getvalue().to_pybytes()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise NotReadable(reason(error)) from None


def _decode_dictionaries(batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
    """Return a batch whose columns hold their values: some rows would carry a dictionary of all in their row group."""
    import pyarrow

    if not any(map(pyarrow.types.is_dictionary, batch.schema.types)):
        return batch
    columns = (one.dictionary_decode() if pyarrow.types.is_dictionary(one.type) else one for one in batch.columns)
    return pyarrow.RecordBatch.from_arrays(list(columns), names=batch.schema.names)


def read_lines(data: bytes, *, is_import: bool = False) -> Iterator[str | NotReadable]:
    """Yield each row of a stream as the text of a JSON object, or why that is not possible.

    A null column or struct field is left out, as in JSON. A null entry of a map stays. For an import, a null column
    stays too, and NaN stands for a value that JSON cannot hold, such as a time.
    """
    import pyarrow

    with pyarrow.ipc.open_stream(data) as stream:
        for batch in stream:
            for index in range(batch.num_rows):
                yield _line(batch, index, is_import=is_import)


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
