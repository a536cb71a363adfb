/** What the pages ask of the database: bounded in time and rows, and only by reading. */
@NullMarked
package org.pgonce.console.internal.look;

import org.jspecify.annotations.NullMarked;
