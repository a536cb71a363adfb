/** What others may implement: wake-up sources, payload codecs, metrics. */
@NullMarked
package org.pgonce.spi;

import org.jspecify.annotations.NullMarked;
