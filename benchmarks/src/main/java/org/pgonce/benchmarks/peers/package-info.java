/** The same work by other libraries, each at the settings that its own documentation recommends. */
@NullMarked
package org.pgonce.benchmarks.peers;

import org.jspecify.annotations.NullMarked;
