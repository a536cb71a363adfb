/**
 * What each form of a trigger costs the writer. {@link org.pgonce.benchmarks.forms.FormsBenchmark}
 * runs it, {@link org.pgonce.benchmarks.forms.Kinds} lists what is compared.
 */
@NullMarked
package org.pgonce.benchmarks.forms;

import org.jspecify.annotations.NullMarked;
