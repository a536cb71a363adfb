/** pgonce with Spring Boot 4: what differs from other versions of Boot. */
@NullMarked
package org.pgonce.spring.boot4;

import org.jspecify.annotations.NullMarked;
