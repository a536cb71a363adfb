/** What a trigger costs the server in CPU time. */
@NullMarked
package org.pgonce.benchmarks.cpu;

import org.jspecify.annotations.NullMarked;
