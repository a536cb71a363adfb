/**
 * Listens through pgjdbc-ng. Found by {@link java.util.ServiceLoader}: nothing has to be called.
 */
@NullMarked
package org.pgonce.pgjdbcng;

import org.jspecify.annotations.NullMarked;
