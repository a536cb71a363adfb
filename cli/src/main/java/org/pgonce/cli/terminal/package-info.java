/** What is printed: tables, JSON, and nothing that a terminal would obey. */
@NullMarked
package org.pgonce.cli.terminal;

import org.jspecify.annotations.NullMarked;
