package org.pgonce.triggers.internal.catalog;

/**
 * A column of a table, or an attribute of a composite type.
 *
 * @param nullable whether it may hold null; not asked of an attribute of a composite type, where
 *     nothing can promise that it does not
 */
public record Column(String name, ColumnType type, boolean nullable) {}
