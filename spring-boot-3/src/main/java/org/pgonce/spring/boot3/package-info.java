/** pgonce with Spring Boot 3: what differs from other versions of Boot. */
@NullMarked
package org.pgonce.spring.boot3;

import org.jspecify.annotations.NullMarked;
