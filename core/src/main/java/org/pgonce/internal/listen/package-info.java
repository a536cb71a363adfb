/**
 * Keeps one LISTEN connection per process. A wake-up is only a hint: correctness rests on polls.
 */
@NullMarked
package org.pgonce.internal.listen;

import org.jspecify.annotations.NullMarked;
