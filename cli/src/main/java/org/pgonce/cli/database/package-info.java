/** The connection, and the transactions of one command. */
@NullMarked
package org.pgonce.cli.database;

import org.jspecify.annotations.NullMarked;
