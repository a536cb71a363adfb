/**
 * For the person on call: pause, resume, cancel, peek, drop, adopt, dead letters. {@link
 * org.pgonce.operations.Operations} is where everything begins.
 */
@NullMarked
package org.pgonce.operations;

import org.jspecify.annotations.NullMarked;
