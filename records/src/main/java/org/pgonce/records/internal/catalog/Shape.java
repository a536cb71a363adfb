package org.pgonce.records.internal.catalog;

import java.util.Map;

/** How to_json writes the values of a type, and what they mean. */
public enum Shape {
  BOOLEAN,
  INT2,
  INT4,
  INT8,
  NUMERIC,
  FLOAT4,
  FLOAT8,
  /** Any text; a JSON string. */
  TEXT,
  BYTES,
  UUID,
  DATE,
  TIME,
  /** Without a time zone. */
  TIMESTAMP,
  /** A point in time. */
  TIMESTAMP_TZ,
  INTERVAL,
  /** json and jsonb: whatever they hold. */
  JSON,
  ENUM,
  ARRAY,
  COMPOSITE,
  /** Another type that is written as a JSON string: inet, ranges, money, timetz … */
  STRING,
  /** A type that came with a cast to json, such as hstore: whatever the cast makes of it. */
  UNKNOWN;

  private static final Map<String, Shape> BUILT_IN =
      Map.ofEntries(
          Map.entry("bool", BOOLEAN),
          Map.entry("int2", INT2),
          Map.entry("int4", INT4),
          Map.entry("int8", INT8),
          Map.entry("numeric", NUMERIC),
          Map.entry("float4", FLOAT4),
          Map.entry("float8", FLOAT8),
          Map.entry("text", TEXT),
          Map.entry("varchar", TEXT),
          Map.entry("bpchar", TEXT),
          Map.entry("name", TEXT),
          Map.entry("char", TEXT),
          Map.entry("bytea", BYTES),
          Map.entry("uuid", UUID),
          Map.entry("date", DATE),
          Map.entry("time", TIME),
          Map.entry("timestamp", TIMESTAMP),
          Map.entry("timestamptz", TIMESTAMP_TZ),
          Map.entry("interval", INTERVAL),
          Map.entry("json", JSON),
          Map.entry("jsonb", JSON));

  /** Of a type of the schema pg_catalog that is no array, composite, domain or enum. */
  static Shape ofBuiltIn(String typname) {
    return BUILT_IN.getOrDefault(typname, STRING);
  }
}
