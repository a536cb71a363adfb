/** How fast a backlog is worked off. */
@NullMarked
package org.pgonce.benchmarks.drain;

import org.jspecify.annotations.NullMarked;
