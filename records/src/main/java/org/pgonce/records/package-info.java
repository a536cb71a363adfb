/**
 * Tables and the records that read their rows. {@link org.pgonce.records.Records} prints the record
 * of a table by these rules, and says where one that you wrote disagrees with its table.
 *
 * <h2>What a column is in Java</h2>
 *
 * A row is stored as PostgreSQL writes it in JSON and read as the standard codec reads it: column
 * {@code created_at} is component {@code createdAt}, or what {@code @JsonProperty} says. Values are
 * exact or an error, but for what is said here: a record that cannot take all values of a column's
 * type is refused when the channel is installed or a listener starts, and a single value that Java
 * has no place for becomes a dead letter with its reason.
 *
 * <table>
 * <caption>PostgreSQL types and their Java types</caption>
 * <tr><th>PostgreSQL</th><th>Java</th></tr>
 * <tr><td>smallint, integer, bigint</td><td>short, int, long or wider, BigInteger, BigDecimal</td></tr>
 * <tr><td>numeric</td><td>BigDecimal, with its scale (1.10 stays 1.10); BigInteger, long or int where
 *     numeric(p,0) fits. NaN and infinity: dead letter</td></tr>
 * <tr><td>real, double precision</td><td>float (real only), double: NaN and infinity too. A real is in a double
 *     what PostgreSQL prints of it, 0.1 and not 0.10000000149. -0 arrives as 0</td></tr>
 * <tr><td>boolean</td><td>boolean</td></tr>
 * <tr><td>text, varchar, char, name, citext</td><td>String, char(n) with its blanks; an enum, blanks around its
 *     constant's name let pass; a class that is read from a string; char for varchar(1) and char(1), where an empty
 *     text and a character that takes two chars are dead letters</td></tr>
 * <tr><td>"char"</td><td>String. Before PostgreSQL 15, one above 127 arrives as U+FFFD</td></tr>
 * <tr><td>enum</td><td>an enum with a constant for every label, by its toString, which is its name if you write
 *     none, or @JsonProperty; String</td></tr>
 * <tr><td>timestamptz</td><td>Instant, OffsetDateTime, ZonedDateTime, in UTC, years 1 to 9999. Others and
 *     infinity: dead letter</td></tr>
 * <tr><td>timestamp, date, time</td><td>LocalDateTime, LocalDate, LocalTime, with the same bounds; 24:00: dead
 *     letter</td></tr>
 * <tr><td>interval</td><td>String as in ISO 8601, or infinity; Duration, where a day is 24 hours, and one with
 *     months or infinity is a dead letter</td></tr>
 * <tr><td>uuid</td><td>UUID</td></tr>
 * <tr><td>bytea</td><td>byte[]; a String has it in hexadecimal behind a backslash and x</td></tr>
 * <tr><td>json, jsonb</td><td>JsonNode, Map, List, or a record of its fields. Numbers are exact but where the
 *     record has a double or float, which takes the nearest, and -0 arrives as 0. Null and JSON's null are one.
 *     The character 0 arrives; a key that is there twice, or a 500th level of nesting, makes the row a dead letter, even if
 *     nothing reads the column</td></tr>
 * <tr><td>hstore</td><td>JsonNode, Map of String to String</td></tr>
 * <tr><td>arrays, int2vector, oidvector</td><td>a List or array of the element's type, nested for more dimensions;
 *     bounds are lost. Any element may be null. A value of another number of dimensions: dead letter</td></tr>
 * <tr><td>composite types</td><td>a record of its attributes, of which any may be null; Map</td></tr>
 * <tr><td>domains</td><td>as their base type, which may be an array or composite</td></tr>
 * <tr><td>ranges, multiranges, timetz, inet, cidr, macaddr, money, bit, xml, tsvector, point and other shapes,
 *     oid, pg_lsn and all others</td><td>String, as PostgreSQL writes it: times in UTC and ISO, money as
 *     -$1,234.50, oid in digits</td></tr>
 * <tr><td>types that an extension gave a cast to json</td><td>JsonNode: whatever the cast makes of it</td></tr>
 * </table>
 *
 * String takes every type that is no number, boolean, json, hstore, array or composite; JsonNode
 * and Object take all. A column that may be null needs a type that can be null. A component without
 * a column is refused, unless it is Optional or annotated as {@code @Nullable}; columns that no
 * component reads are ignored. Classes with a {@code @JsonCreator}, and payload types that are no
 * records, are taken at their word.
 *
 * <p>Columns that are generated and STORED are as all others. Those that are generated when they
 * are read (VIRTUAL, since PostgreSQL 18) are not seen by triggers: a component that reads one is
 * refused, and a JsonNode or Map has null in its place. A row whose JSON is longer than 100 MiB, in
 * which bytea takes two characters a byte, is written and becomes a dead letter.
 */
@NullMarked
package org.pgonce.records;

import org.jspecify.annotations.NullMarked;
