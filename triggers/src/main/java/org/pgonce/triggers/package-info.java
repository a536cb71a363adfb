/**
 * Channels that are fed by a trigger on a table. Start at {@link
 * org.pgonce.triggers.TriggerChannel}.
 *
 * <h2>What a column is in Java</h2>
 *
 * A row is stored as PostgreSQL writes it in JSON and read as {@link org.pgonce.spi.JacksonCodec}
 * reads it: column {@code created_at} is component {@code createdAt}, or what {@code @JsonProperty}
 * says. Values are exact or an error, never changed in silence: a record that cannot take all
 * values of a column's type is refused when the channel is installed or a listener starts, and a
 * single value that Java has no place for becomes a dead letter with its reason.
 *
 * <table>
 * <caption>PostgreSQL types and their Java types</caption>
 * <tr><th>PostgreSQL</th><th>Java</th></tr>
 * <tr><td>smallint, integer, bigint</td><td>short, int, long or wider, BigInteger, BigDecimal</td></tr>
 * <tr><td>numeric</td><td>BigDecimal, with its scale (1.10 stays 1.10); BigInteger, long or int where
 *     numeric(p,0) fits. NaN and infinity: dead letter</td></tr>
 * <tr><td>real, double precision</td><td>float (real only), double: NaN and infinity too</td></tr>
 * <tr><td>boolean</td><td>boolean</td></tr>
 * <tr><td>text, varchar, char, citext</td><td>String, an enum, or a class that is read from a string</td></tr>
 * <tr><td>enum</td><td>an enum with a constant for every label, by its name or @JsonProperty; String</td></tr>
 * <tr><td>timestamptz</td><td>Instant, OffsetDateTime, ZonedDateTime, in UTC, years 1 to 9999. Others and
 *     infinity: dead letter</td></tr>
 * <tr><td>timestamp, date, time</td><td>LocalDateTime, LocalDate, LocalTime, with the same bounds; 24:00: dead
 *     letter</td></tr>
 * <tr><td>interval</td><td>String as in ISO 8601; Duration, where one with months is a dead letter</td></tr>
 * <tr><td>uuid</td><td>UUID</td></tr>
 * <tr><td>bytea</td><td>byte[]</td></tr>
 * <tr><td>json, jsonb</td><td>JsonNode, Map, List, or a record of its fields</td></tr>
 * <tr><td>arrays</td><td>a List or array of the element's type, nested for more dimensions; bounds are lost</td></tr>
 * <tr><td>composite types</td><td>a record of its attributes, Map</td></tr>
 * <tr><td>domains</td><td>as their base type</td></tr>
 * <tr><td>timetz, inet, ranges, money and all others</td><td>String</td></tr>
 * </table>
 *
 * String takes every type that is no number, boolean, json, array or composite; JsonNode and Object
 * take all. A column that may be null needs a type that can be null. A component without a column
 * is refused, unless it is Optional or annotated as {@code @Nullable}; columns that no component
 * reads are ignored. Classes with a {@code @JsonCreator}, and payload types that are no records,
 * are taken at their word.
 *
 * <h2>What makes no notification</h2>
 *
 * <ul>
 *   <li>what is done to a table that inherits from the watched one: it has a channel of its own;
 *   <li>what is done to a partition by its own name, where {@link
 *       org.pgonce.triggers.TriggerForm#STATEMENT} was asked for;
 *   <li>rows that arrive by logical replication, or while {@code session_replication_role} is
 *       {@code replica}, or the trigger is disabled;
 *   <li>rows of a transaction at REPEATABLE READ or SERIALIZABLE that began before the channel was
 *       installed.
 * </ul>
 *
 * <p>A transaction that writes to a watched table cannot be prepared for two-phase commit:
 * PostgreSQL refuses PREPARE TRANSACTION after a NOTIFY.
 */
@NullMarked
package org.pgonce.triggers;

import org.jspecify.annotations.NullMarked;
