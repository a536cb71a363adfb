/** The pages of pgonce-console, served from the command line. */
@NullMarked
package org.pgonce.cli.console;

import org.jspecify.annotations.NullMarked;
