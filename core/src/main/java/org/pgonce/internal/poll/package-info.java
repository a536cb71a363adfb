/** One statement a second for all channels of the process: what correctness rests on. */
@NullMarked
package org.pgonce.internal.poll;

import org.jspecify.annotations.NullMarked;
