/** What is wrong with the database, or about to be, and what to do. It only reads. */
@NullMarked
package org.pgonce.operations.internal.doctor;

import org.jspecify.annotations.NullMarked;
