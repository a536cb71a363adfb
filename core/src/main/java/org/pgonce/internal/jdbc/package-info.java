/** What is particular to a driver or a pool, and the ways around it. */
@NullMarked
package org.pgonce.internal.jdbc;

import org.jspecify.annotations.NullMarked;
