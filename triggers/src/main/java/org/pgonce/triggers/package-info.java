/**
 * Channels that are fed by a trigger on a table. Start at {@link
 * org.pgonce.triggers.TriggerChannel}.
 *
 * <p>A row is stored as PostgreSQL writes it in JSON and read as the standard codec reads it;
 * {@linkplain org.pgonce.records the package of records} says what each column is in Java.
 *
 * <h2>What makes no notification</h2>
 *
 * <ul>
 *   <li>what is done to a table that inherits from the watched one: it has a channel of its own;
 *   <li>what is done to a partition by its own name, where {@link
 *       org.pgonce.triggers.TriggerForm#STATEMENT} was asked for, and there a row that a MERGE
 *       moves to another partition;
 *   <li>what is written to a table that was a partition, and is detached;
 *   <li>what a statement does that names another table, of which the watched one has become a
 *       partition or inherits, until the channel is installed again; see {@link Triggers#check};
 *   <li>rows that arrive by logical replication, or while {@code session_replication_role} is
 *       {@code replica}, unless the trigger is per row and {@code ENABLE ALWAYS}; and all rows
 *       where it is disabled.
 * </ul>
 *
 * <p>PostgreSQL refuses PREPARE TRANSACTION after a NOTIFY. So a transaction that writes to a
 * watched table can be prepared for two-phase commit for certain only if the channel has {@link
 * org.pgonce.WakeUps#NEVER}.
 */
@NullMarked
package org.pgonce.triggers;

import org.jspecify.annotations.NullMarked;
