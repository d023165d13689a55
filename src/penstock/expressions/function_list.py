"""Functions that a user's text may call: names from DuckDB's catalogue, read through one by one.

A function is in `ALLOWED` if its value follows from its arguments alone, and if it reads no file,
setting, variable or catalogue. What DuckDB calls constant and is not in the list is in `OUTSIDE`,
with the others of its kind that nobody writes: a test compares both with the DuckDB that is
installed, so that the functions of a new version are looked at before they can be called.
"""

from __future__ import annotations

ALLOWED = frozenset(
    """
    abs acos acosh add age aggregate alias apply array_aggr array_aggregate array_apply array_cat
    array_concat array_contains array_cosine_distance array_cosine_similarity array_cross_product
    array_distance array_distinct array_dot_product array_extract array_filter array_grade_up
    array_has array_has_all array_has_any array_indexof array_inner_product array_intersect
    array_length array_negative_dot_product array_negative_inner_product array_position
    array_reduce array_resize array_reverse_sort array_select array_slice array_sort array_to_json
    array_transform array_unique array_value array_where array_zip ascii asin asinh atan atan2
    atanh bar base64 bin binom bit_count bit_length bit_position bitstring can_cast_implicitly
    cardinality cast_to_type cbrt ceil ceiling century char_length character_length chr concat
    concat_ws contains cos cosh cot damerau_levenshtein date_diff date_part date_sub date_trunc
    datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear decade decode
    degrees divide editdist3 element_at encode ends_with enum_code enum_first enum_last enum_range
    enum_range_boundary epoch epoch_ms epoch_ns epoch_us equi_width_bins era even exp factorial
    filter flatten floor format format_bytes formatreadabledecimalsize formatreadablesize
    from_base64 from_binary from_hex from_json from_json_strict gamma gcd generate_series get_bit
    get_type grade_up greatest greatest_common_divisor hamming hash hex hive_partition_component
    hour icu_sort_key ilike_escape instr isfinite isinf isnan isodow isoyear jaccard
    jaro_similarity jaro_winkler_similarity json_array json_array_length json_contains
    json_deep_merge json_exists json_extract json_extract_path json_extract_path_text
    json_extract_string json_insert json_keys json_merge_patch json_merge_patch_diff
    json_normalize json_object json_pretty json_quote json_remove json_replace json_set
    json_strip_nulls json_structure json_transform json_transform_strict json_type json_valid
    json_value julian last_day lcase lcm least least_common_multiple left left_grapheme len length
    length_grapheme levenshtein lgamma like_escape list_aggr list_aggregate list_apply list_cat
    list_concat list_contains list_cosine_distance list_cosine_similarity list_distance
    list_distinct list_dot_product list_element list_extract list_filter list_grade_up list_has
    list_has_all list_has_any list_indexof list_inner_product list_intersect
    list_negative_dot_product list_negative_inner_product list_pack list_position list_reduce
    list_resize list_reverse_sort list_select list_slice list_sort list_transform list_unique
    list_value list_where list_zip ln log log10 log2 lower lpad ltrim make_date make_time
    make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz make_type map map_concat
    map_contains map_entries map_extract map_extract_value map_from_entries map_keys map_values
    md5 md5_number microsecond millennium millisecond minute mismatches mod month monthname
    multiply nanosecond nextafter nfc_normalize normalized_interval not_ilike_escape
    not_like_escape octet_length ord overlay parse_dirname parse_dirpath parse_filename
    parse_formatted_bytes parse_path path_join pi position pow power prefix printf quarter radians
    range reduce regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches
    regexp_replace regexp_split_to_array repeat replace replace_type reverse right right_grapheme
    round round_even roundbankers row row_to_json rpad rtrim second set_bit sha1 sha256 sign
    signbit sin sinh split sqrt st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_crs
    st_geomfromgeojson st_geomfromwkb st_intersects_extent st_setcrs starts_with str_split
    str_split_regex strftime string_split string_split_regex string_to_array strip_accents strlen
    strpos strptime struct_concat struct_contains struct_extract struct_extract_at struct_has
    struct_indexof struct_insert struct_keys struct_pack struct_position struct_update
    struct_values substr substring substring_grapheme subtract suffix switch tan tanh time_bucket
    timezone timezone_hour timezone_minute to_base to_base64 to_binary to_centuries to_days
    to_decades to_hex to_hours to_json to_microseconds to_millennia to_milliseconds to_minutes
    to_months to_quarters to_seconds to_timestamp to_weeks to_years translate trim trunc
    try_strptime typeof ucase unbin unhex unicode union_extract union_tag union_value upper
    url_decode url_encode uuid_extract_timestamp uuid_extract_version version vertex_extract week
    weekday weekofyear xor year yearweek
""".split()
)
"""Functions by name."""

SIGNS = frozenset(
    """
    != !__postfix !~~ !~~* % & && * ** + - ->> / // < <-> << <= <=> <@ = > >= >> @ @> ^ ^@
    | || ~ ~~ ~~* ~~~
""".split()
)
"""Functions that are written as signs."""

FAMILIES = ("collate_", "icu_collate_")
"""Functions of one collation each."""

OUTSIDE = frozenset(
    """
    bitstring_byte_comparable combine constant_or_null create_sort_key current_localtime
    current_localtimestamp decimal_division finalize index_key invoke is_histogram_other_bin
    json_deserialize_sql json_serialize_plan json_serialize_sql parse_duckdb_log_message
    remap_struct timetz_byte_comparable to_aggregate_state unpivot_list variant_array_length
    variant_bytes_to_variant variant_comparator variant_contains variant_exists variant_extract
    variant_extract_string variant_keys variant_normalize variant_to_parquet_variant variant_type
    variant_typeof
""".split()
)
"""What DuckDB calls constant and no text may call.

Clocks that hide it; what plans, prints or logs statements; what reads the bytes of a state as they
come; what DuckDB's own planner says to itself; what takes a VARIANT, which DuckDB makes of a deep
JSON by calls of its own until it dies.
"""

INTERNAL = "__"
"""How the names of functions begin that are DuckDB's own."""

RANDOM_AGGREGATES = frozenset({"reservoir_quantile"})
"""Aggregates that throw dice: `list_aggregate` takes aggregates by name."""


def is_allowed(name: str) -> bool:
    """Say whether a text may call a function, by its name in small letters.

    >>> is_allowed("upper"), is_allowed("getenv"), is_allowed("collate_de")
    (True, False, True)
    """
    return name in ALLOWED or name in SIGNS or name.startswith(FAMILIES)
