package org.pgonce.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.pgonce.ListenOptions;

/**
 * Makes a bean's method the handler of a channel's subscription. The channel is a bean too.
 *
 * <pre>{@code
 * @PgOnceListener(channel = "signed_up", concurrency = "${mail.concurrency:4}")
 * void welcome(SignedUp signedUp) {
 *   greetings.save(new Greeting(signedUp.userId()));
 * }
 * }</pre>
 *
 * <p>The method returns nothing and takes, in any order: the payload; its {@link
 * org.pgonce.Notification}, or single components of it, such as the attempt and the delivery key,
 * by {@link PgOnceHeader}; the {@link org.pgonce.Tx}. In place of payload, notification and headers
 * it may take a {@code List<Notification<T>>}: then it handles {@link #batch} at once, as {@link
 * org.pgonce.Handler#batch} says. It runs as {@link org.pgonce.Handler} says, on pgonce's threads,
 * through the bean's proxy.
 *
 * <p>What it does through Spring with the same data source (repositories, {@code JdbcClient}, jOOQ,
 * {@code @Transactional} methods) is done in the notification's transaction.
 *
 * <p>Each setting takes placeholders, and is empty by default: {@link ListenOptions#DEFAULT} counts
 * then. {@code pgonce.channels.<name>.*} overrides it.
 */
@Documented
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
public @interface PgOnceListener {

  /** The name of the channel. */
  String channel();

  /** The name of the subscription; may be empty where the channel has only one. */
  String subscription() default "";

  /** {@link ListenOptions#concurrency()}. */
  String concurrency() default "";

  /** {@link ListenOptions#batch()}. */
  String batch() default "";

  /** {@link ListenOptions#maxAttempts()}. */
  String maxAttempts() default "";

  /** {@link org.pgonce.Backoff#first()} of the wait between attempts: for example {@code 200ms}. */
  String backoffFirst() default "";

  /** {@link org.pgonce.Backoff#longest()} of the wait between attempts: for example {@code 5s}. */
  String backoffLongest() default "";

  /** {@link ListenOptions#handlerTimeout()}: for example {@code 30s} or {@code PT5M}. */
  String handlerTimeout() default "";

  /** {@link ListenOptions#lease()}: for example {@code 30s} or {@code PT5M}. */
  String lease() default "";
}
