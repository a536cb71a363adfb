/**
 * One connection, its transactions with their bounds, and rows of any query: for those that look
 * and act by SQL.
 */
@NullMarked
package org.pgonce.operations.internal.sql;

import org.jspecify.annotations.NullMarked;
