/** What is wrong, or about to be, and what to do. */
@NullMarked
package org.pgonce.cli.doctor;

import org.jspecify.annotations.NullMarked;
