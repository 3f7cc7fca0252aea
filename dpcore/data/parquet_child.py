"""Parquet file on standard input, as CSV on standard output; run as a program of its own, since a damaged file can end
the process that reads it and a few bytes can stand for gigabytes.

The first line is JSON: rows, columns, bytes once unpacked, and the places of columns that are neither numbers nor
texts, which are empty in the CSV. The CSV, which has no line of names, follows unless the file is beyond the limits,
which are the one argument: most rows, columns, cells, bytes once unpacked and bytes of CSV, in this order. It exits
with `TOO_LARGE` where making the CSV would take too much memory; any other failure means that the file is damaged.
"""

import contextlib
import io
import json
import sys

import pyarrow as pa
from pyarrow import csv, parquet

TOO_LARGE = 3
_MEMORY, _SECONDS = 2**30, 60
_BATCH = 2**14  # rows in memory at a time


def main(limits: list[int]) -> int:
    content = sys.stdin.buffer.read()
    with contextlib.suppress(ImportError):  # Windows has no such limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    try:
        file = parquet.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        schema, footer = file.schema_arrow, file.metadata
        groups = [footer.row_group(k) for k in range(footer.num_row_groups)]
        unpacked = sum(group.column(k).total_uncompressed_size for group in groups for k in range(group.num_columns))
        unread = [place for place, field in enumerate(schema) if not _is_plain(field.type)]
        facts = {"rows": footer.num_rows, "columns": schema.names, "unpacked": unpacked, "unread": unread}
        print(json.dumps(facts), flush=True)
        sizes = (footer.num_rows, len(schema), footer.num_rows * len(schema), unpacked)
        if all(size <= most for size, most in zip(sizes, limits, strict=False)):
            _write(file, limits[-1])
    except (MemoryError, pa.ArrowMemoryError):
        return TOO_LARGE
    return 0


def _write(file: parquet.ParquetFile, most: int) -> None:
    rows, out = 0, io.BytesIO()
    names = [str(place) for place in range(len(file.schema_arrow))]
    for batch in file.iter_batches(_BATCH, use_threads=False):
        texts = [_as_text(column) for column in batch.columns]
        csv.write_csv(pa.RecordBatch.from_arrays(texts, names), out, csv.WriteOptions(include_header=False))
        rows += len(batch)
        if out.tell() > most:
            raise MemoryError
    if rows != file.metadata.num_rows:
        raise ValueError("the footer counts other rows")
    sys.stdout.buffer.write(out.getvalue())


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_plain(kind: pa.DataType) -> bool:
    kind, types = _value_type(kind), pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_temporal(kind)
        or types.is_null(kind)
    )


def _as_text(column: pa.Array) -> pa.Array:
    """Column whose cells can be written."""
    if not _is_plain(column.type):
        return pa.nulls(len(column))
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_float16(column.type):
        return column.cast(pa.float32())
    return column.cast(pa.int64()) if pa.types.is_duration(column.type) else column


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
