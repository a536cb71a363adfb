package org.pgonce.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A parameter of a {@link PgOnceListener} method that takes what the {@link
 * org.pgonce.Notification} has beside its payload.
 *
 * <pre>{@code
 * @PgOnceListener(channel = "signed_up")
 * void welcome(SignedUp signedUp, @PgOnceHeader String deliveryKey, @PgOnceHeader int attempt) {
 *   mails.welcome(signedUp.userId(), deliveryKey);
 * }
 * }</pre>
 *
 * <p>The headers are the components of {@code Notification}, with their types: {@code attempt},
 * {@code channel}, {@code context}, {@code deliveryKey}, {@code depth}, {@code id}, {@code
 * storedAt}, {@code subscription}. An unknown header, another type, and a header in a listener of
 * batches are refused when the context starts.
 */
@Documented
@Target(ElementType.PARAMETER)
@Retention(RetentionPolicy.RUNTIME)
public @interface PgOnceHeader {

  /**
   * The header's name. Where it is empty, the parameter's name is the header's: the compiler keeps
   * it with {@code -parameters}, which Spring Boot's build plugins set.
   */
  String value() default "";
}
