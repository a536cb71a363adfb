package org.pgonce.records.internal.catalog;

/**
 * A column of a table, or an attribute of a composite type.
 *
 * @param nullable whether it may hold null; not asked of an attribute of a composite type, where
 *     nothing can promise that it does not
 * @param virtual whether it is generated when it is read (PostgreSQL 18), which a trigger does not
 *     see
 */
public record Column(String name, ColumnType type, boolean nullable, boolean virtual) {}
