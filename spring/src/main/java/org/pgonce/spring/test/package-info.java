/** The test slice of the Spring Boot starters. */
@NullMarked
package org.pgonce.spring.test;

import org.jspecify.annotations.NullMarked;
