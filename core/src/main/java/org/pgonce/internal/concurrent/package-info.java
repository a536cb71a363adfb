/** Threads, a task that repeats. Imports no other package of pgonce. */
@NullMarked
package org.pgonce.internal.concurrent;

import org.jspecify.annotations.NullMarked;
