package org.pgonce.spring.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.core.annotation.AliasFor;
import org.springframework.test.context.ContextCustomizerFactories;

/**
 * Tests listeners in a context that has them, their channels and the database, and nothing else.
 *
 * <pre>{@code
 * @PgOnceListenerTest
 * class GreetingsTest {
 *
 *   @Autowired PgOnceTester pgonce;
 *   @Autowired Channel<SignedUp> signedUp;
 *
 *   @Test
 *   void greets() {
 *     pgonce.publish(signedUp, new SignedUp(42));
 *     pgonce.drain(signedUp); // runs the listener, on this thread
 *     assertThat(pgonce.count("select count(*) from greeting")).isEqualTo(1);
 *   }
 * }
 * }</pre>
 *
 * <p>In the context are the application class; beans with {@link org.pgonce.spring.PgOnceListener}
 * methods, or those of {@link #listeners} alone; components and configuration classes, whole, that
 * are or define a {@link org.pgonce.Channel}, a {@link org.pgonce.spring.Subscription}, a {@link
 * org.pgonce.spi.PayloadCodec}, a {@link org.pgonce.spi.HandlerInterceptor} or a {@link
 * org.pgonce.spring.PgOnceCustomizer}; Boot's configuration of JDBC, transactions, Flyway,
 * Liquibase, JPA, Spring Data's JDBC and JPA repositories, jOOQ and MyBatis, as far as they are on
 * the class path; pgonce's. What a listener needs beside them the test adds by {@code @Import}, or
 * replaces by {@code @MockitoBean}.
 *
 * <p>Nothing is listened to ({@code pgonce.auto-startup=false}): {@code PgOnceTester.drain} runs
 * the listeners. The channels are installed ({@code pgonce.install=always}).
 *
 * <p>The database is the one that the test names: a DataSource bean, {@code @ServiceConnection}, or
 * {@code spring.datasource.url} by the test's own properties, a system property or the environment.
 * Where it names none, the context has a fresh one on the server of {@code
 * org.pgonce.test.PgOnceTest}, whatever the application's files say, as these are the developer's;
 * with {@code spring.test.database.replace=none} those count. Tests of one context share it.
 *
 * <p>Needs pgonce-test and spring-boot-starter-test on the class path.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@SpringBootTest(webEnvironment = WebEnvironment.NONE)
@ContextCustomizerFactories(SliceFactory.class)
@ImportAutoConfiguration
public @interface PgOnceListenerTest {

  /** As {@link #listeners}. */
  @AliasFor("listeners")
  Class<?>[] value() default {};

  /**
   * The only components to load of those with {@link org.pgonce.spring.PgOnceListener} methods;
   * without any, all are loaded.
   */
  @AliasFor("value")
  Class<?>[] listeners() default {};

  /** Properties of the test's own, {@code name=value}. */
  @AliasFor(annotation = SpringBootTest.class)
  String[] properties() default {};
}
