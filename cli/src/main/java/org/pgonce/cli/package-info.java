/** The command line. {@link org.pgonce.cli.PgOnceCommand} is where everything begins. */
@NullMarked
package org.pgonce.cli;

import org.jspecify.annotations.NullMarked;
