"""Columns: which types Spark reads, and as what.

Spark has no unsigned numbers. An unsigned column, declared or in Parquet files, is read as the
next type that holds all its values, and is unsigned again before an operator sees it; inside lists
and structs it stays as Spark reads it. What Spark cannot read at all is refused by its name when
the source is opened, not when the first file comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # Spark's own custom
from pyspark.sql.types import (
    ByteType,
    DataType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StructField,
    StructType,
)

from penstock.spark.failures import explain_failure
from penstock.vocabulary.broken import MARK
from penstock.vocabulary.errors import PenstockError

UNSIGNED = "penstock_unsigned"
"""The metadata of a column of a Spark frame that is unsigned: its number of bits."""

BROKEN = "penstock_broken"
"""The metadata of a column of a Spark frame that holds lines which do not parse."""

CARRIERS: dict[pa.DataType, pa.DataType] = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
"""What Spark reads unsigned numbers as: Parquet's too, by its own choice."""
_UNSIGNED = {type_.bit_width: type_ for type_ in CARRIERS}
_SIGNED_BITS: dict[type[DataType], int] = {
    ByteType: 8,
    ShortType: 16,
    IntegerType: 32,
    LongType: 64,
}
_ARROW_TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
PLAIN = frozenset({*_ARROW_TYPES.values(), *CARRIERS})
"""Types that a relation has as its source does, besides decimal numbers."""
_UNREADABLE = {
    "UUID": ("UUID", "VARCHAR"),
    "TIME(": ("TIME", "VARCHAR"),
    "INTERVAL": ("INTERVAL", "VARCHAR"),
    "TIMESTAMP(NANOS": ("TIMESTAMP_NS", "TIMESTAMP"),
    "FLOAT16": ("a half float", "FLOAT"),
}
"""How Parquet names types that Spark cannot read: DuckDB's names, and what to write instead."""


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """Give the Arrow schema that a relation of this frame has.

    It is that of `frame.toArrow()`, but for unsigned columns. Plain columns are looked up. For
    others Spark turns an empty frame into Arrow, which is slow (a job, 0.1 s) and right by
    definition.
    """
    types = [_arrow_type(field) for field in frame.schema.fields]
    if None in types:
        plain = frame.sparkSession.createDataFrame([], frame.schema).toArrow().schema
        types = [known or found for known, found in zip(types, plain.types, strict=True)]
    return pa.schema(
        [
            pa.field(field.name, type_, field.nullable, MARK if _is_broken(field) else None)
            for field, type_ in zip(frame.schema.fields, types, strict=True)
        ]
    )


def _is_broken(field: StructField) -> bool:
    return bool((field.metadata or {}).get(BROKEN))


def _arrow_type(field: StructField) -> pa.DataType | None:
    if bits := (field.metadata or {}).get(UNSIGNED):
        return _UNSIGNED[bits]
    if isinstance(field.dataType, DecimalType):
        return pa.decimal128(field.dataType.precision, field.dataType.scale)
    return _ARROW_TYPES.get(field.dataType.simpleString())


def spark_schema(spark: SparkSession, schema: pa.Schema) -> StructType:
    """Give the Spark columns of an Arrow schema; Spark decides, as in `arrow_schema`.

    It raises SRC-014 if Spark has nothing that would hold a column.
    """
    for field in schema:
        if any(pa.types.is_time(each) or pa.types.is_interval(each) for each in _all(field.type)):
            raise PenstockError(
                "SRC-014",
                f"Column {field.name!r} is declared as {field.type}, which Spark cannot read.",
                f"Declare it as VARCHAR, and CAST({field.name} AS …) in queries.",
            )
    carried = pa.schema([field.with_type(_carried(field.type)) for field in schema])
    try:
        found = spark.createDataFrame(carried.empty_table()).schema
    except PySparkException as error:
        raise explain_failure(error) from error
    bits = {field.name: field.type.bit_width for field in schema if field.type in CARRIERS}
    return _marked(found, bits)


def _all(type_: pa.DataType) -> Iterator[pa.DataType]:
    """Give a type and all that it is made of."""
    yield type_
    for number in range(type_.num_fields):
        yield from _all(type_.field(number).type)


def _carried(type_: pa.DataType) -> pa.DataType:
    """Give the type as which Spark reads one that may be unsigned, or hold such.

    >>> _carried(pa.list_(pa.uint64()))
    ListType(list<item: decimal128(20, 0)>)
    """
    if type_ in CARRIERS:
        return CARRIERS[type_]
    if pa.types.is_map(type_):
        return pa.map_(_carried(type_.key_type), _carried(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([each.with_type(_carried(each.type)) for each in type_])
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.list_(type_.value_field.with_type(_carried(type_.value_type)))
    return type_


def _marked(columns: StructType, bits: Mapping[str, int]) -> StructType:
    """Note which columns are unsigned."""
    return StructType(
        [
            StructField(each.name, each.dataType, each.nullable, {UNSIGNED: bits[each.name]})
            if each.name in bits
            else each
            for each in columns.fields
        ]
    )


def unsigned_again(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """Give a column as its relation has it."""
    return column.cast(type_) if type_ in CARRIERS else column


def parquet_columns(
    spark: SparkSession, path: str, options: Mapping[str, str], declared: StructType | None
) -> StructType:
    """Give the columns of Parquet files as a stream reads them: declared, or what the files tell.

    It raises SRC-014 if the files hold a type that Spark cannot read, or would read wrong.
    """
    try:
        footer = _footer(spark, path, options)
    except Py4JError:
        if declared is None:
            raise
        footer = []  # a file that cannot be read fails where Spark reads it, with its name
    names = None if declared is None else {name.lower() for name in declared.names}
    own = [each for each in footer if names is None or each.getName().lower() in names]
    for column in own:
        _refuse_unreadable(column, path, names is None)
    bits = {each.getName(): found for each in own if (found := _unsigned_bits(each))}
    if declared is None:
        told = spark.read.format("parquet").options(**options).load(path).schema
        return _marked(told, bits)
    for name, width in bits.items():
        own_type = next(f.dataType for f in declared.fields if f.name.lower() == name.lower())
        if _SIGNED_BITS.get(type(own_type), 128) <= width:
            raise PenstockError(
                "SRC-014",
                f"Column {name!r} is declared as {own_type.simpleString().upper()}, and {path} "
                f"holds unsigned numbers of {width} bits: large ones would become negative.",
                f"Declare it as {_duck_name(width)}.",
            )
    return declared


def _footer(spark: SparkSession, path: str, options: Mapping[str, str]) -> list[Any]:
    """Give the columns of one of the files, as Parquet's own library tells them; none, no files."""
    jvm: Any = spark._jvm
    reader = spark.read.format("parquet").options(**options).schema("nothing int")
    files = reader.load(path)._jdf.inputFiles()
    if not len(files):
        return []
    hadoop = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(files[0]))
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    parquet = jvm.org.apache.parquet.hadoop
    opened = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(hadoop, settings))
    try:
        schema = opened.getFooter().getFileMetaData().getSchema()
    finally:
        opened.close()
    return [schema.getType(number) for number in range(schema.getFieldCount())]


def _kind(column: Any) -> str:
    """Name what Parquet says of a column's values beyond their bytes."""
    return str(column.getLogicalTypeAnnotation() or "")


def _unsigned_bits(column: Any) -> int:
    """Give the bits of an unsigned column, else 0."""
    head, _, sign = _kind(column).partition(",")
    return int(head.removeprefix("INTEGER(")) if sign == "false)" and "INTEGER" in head else 0


def _refuse_unreadable(column: Any, path: str, may_leave_out: bool) -> None:
    name, nested = column.getName(), [column]
    while nested:
        each = nested.pop()
        if not each.isPrimitive():
            group = each.asGroupType()
            nested += [group.getType(number) for number in range(group.getFieldCount())]
        kind = _kind(each)
        said = next((said for head, said in _UNREADABLE.items() if kind.startswith(head)), None)
        if said is None:
            continue
        shown, instead = said
        inside = "" if each is column else " inside"
        remedy = f"Write the files with CAST({name} AS {instead}) AS {name}"
        if each is not column:
            remedy = f"Write the files with {name} cast to other types"
        without = ", or declare the columns of the stream without it" if may_leave_out else ""
        raise PenstockError(
            "SRC-014",
            f"Column {name!r} in {path} is {shown}{inside}, which Spark cannot read.",
            f"{remedy}{without}.",
        )


def _duck_name(bits: int) -> str:
    return {8: "UTINYINT", 16: "USMALLINT", 32: "UINTEGER", 64: "UBIGINT"}[bits]


def refuse_nested(columns: StructType) -> None:
    """Refuse columns that a CSV file has no way to write."""
    for each in columns.fields:
        if each.dataType.typeName() in {"array", "map", "struct"}:
            raise PenstockError(
                "SRC-014",
                f"Column {each.name!r} is declared as {each.dataType.simpleString()}, and CSV "
                "files hold plain values.",
                f"Declare it as VARCHAR, and CAST({each.name} AS …) in queries; or bring JSON.",
            )


def sound_lines(frame: DataFrame, corrupt: str, mode: str) -> DataFrame:
    """Let a line that is broken be nothing but that: all its other columns are NULL.

    A number that an unsigned column cannot hold breaks its line too. The line itself is gone by
    then: the column `corrupt` gets its values, as JSON.
    """
    unsigned = {
        each.name: each.metadata[UNSIGNED]
        for each in frame.schema.fields
        if UNSIGNED in (each.metadata or {})
    }
    wrong = F.lit(False)
    if unsigned:
        wrong = F.coalesce(reduce(or_, [_beyond(*each) for each in unsigned.items()]), wrong)
    values = F.to_json(F.struct(*(_column(name) for name in frame.columns if name != corrupt)))
    if mode == "DROPMALFORMED":
        return frame.where(~wrong) if unsigned else frame
    if mode == "FAILFAST":
        fact = "A number is too large for its unsigned column, or negative: "
        error = F.concat(F.lit(f"PenstockError: [SRC-005] {fact}"), values, F.lit(". Correct it."))
        sound = F.when(wrong, F.raise_error(error).cast("boolean")).otherwise(True)
        return frame.where(sound) if unsigned else frame
    sound = _column(corrupt).isNull() & ~wrong
    line = F.coalesce(_column(corrupt), F.when(wrong, values)) if unsigned else _column(corrupt)
    return frame.select(
        *(
            line.alias(each.name, metadata={BROKEN: True})
            if each.name == corrupt
            else F.when(sound, _column(each.name)).alias(each.name, metadata=each.metadata or {})
            for each in frame.schema.fields
        )
    )


def _beyond(name: str, bits: int) -> Column:
    return (_column(name) < 0) | (_column(name) >= F.lit(Decimal(1 << bits)))


def backticked(name: str) -> str:
    """Quote a name for Spark.

    >>> backticked("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def _column(name: str) -> Column:
    return F.col(backticked(name))
