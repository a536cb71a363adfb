/** What many processes cost that listen to one channel. */
@NullMarked
package org.pgonce.benchmarks.herd;

import org.jspecify.annotations.NullMarked;
