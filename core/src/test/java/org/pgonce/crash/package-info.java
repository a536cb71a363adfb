/** What is left when a process, a session or a server dies. */
@NullMarked
package org.pgonce.crash;

import org.jspecify.annotations.NullMarked;
