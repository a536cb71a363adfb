/** From a table to the Java source of a record that reads its rows. */
@NullMarked
package org.pgonce.records.internal.source;

import org.jspecify.annotations.NullMarked;
