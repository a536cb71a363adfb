/** Whether a notification costs the same, however many wait and however many were handled. */
@NullMarked
package org.pgonce.benchmarks.flat;

import org.jspecify.annotations.NullMarked;
