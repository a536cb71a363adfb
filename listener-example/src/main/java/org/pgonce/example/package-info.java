/** Where to begin: {@link org.pgonce.example.Quickstart}; and the command line of the runs. */
@NullMarked
package org.pgonce.example;

import org.jspecify.annotations.NullMarked;
