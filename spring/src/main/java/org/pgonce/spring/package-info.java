/** pgonce in a Spring Boot service: listener methods, Spring's transactions, lifecycle. */
@NullMarked
package org.pgonce.spring;

import org.jspecify.annotations.NullMarked;
