/** What changes something: each with its reason, and each as a dry run too. */
@NullMarked
package org.pgonce.cli.act;

import org.jspecify.annotations.NullMarked;
