package org.pgonce.testkit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives tests a fresh database of the shared server: declare a parameter of type {@link
 * TestDatabase}.
 *
 * <p>A test method and its {@code @BeforeEach} and {@code @AfterEach} methods share one, dropped
 * after that test. If the constructor or a {@code @BeforeAll} method asks for one, the whole class
 * shares it.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@ExtendWith(FreshDatabase.class)
public @interface PgTest {

  /** What is in the database from the start: nothing by default. */
  Class<? extends DatabaseContents> value() default DatabaseContents.Nothing.class;
}
