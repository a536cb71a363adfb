package org.pgonce.micrometer;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.HandlerInterceptor;
import org.slf4j.MDC;

/**
 * Says in each line that a handler logs which notification it is about: {@code pgonce.channel},
 * {@code pgonce.subscription}, {@code pgonce.id}, {@code pgonce.attempt} and {@code
 * pgonce.delivery_key} are in SLF4J's MDC while it runs. For a list of notifications {@code
 * pgonce.batch}, how many they are, stands in place of the last three.
 *
 * <p>Afterwards the thread's MDC has under these keys what it had before. Immutable and safe for
 * use by several threads.
 */
public final class LoggingContext implements HandlerInterceptor {

  /** All of them are alike. */
  public LoggingContext() {}

  @Override
  public void around(Call call) throws Exception {
    var before = new HashMap<String, @Nullable String>();
    for (var entry : entries(call).entrySet()) {
      before.put(entry.getKey(), MDC.get(entry.getKey()));
      MDC.put(entry.getKey(), entry.getValue());
    }
    try {
      call.proceed();
    } finally {
      before.forEach(LoggingContext::restore);
    }
  }

  private static Map<String, String> entries(Call call) {
    var first = call.notifications().get(0);
    var size = call.notifications().size();
    return size > 1
        ? Map.of(
            "pgonce.channel",
            first.channel(),
            "pgonce.subscription",
            first.subscription(),
            "pgonce.batch",
            Integer.toString(size))
        : Map.of(
            "pgonce.channel",
            first.channel(),
            "pgonce.subscription",
            first.subscription(),
            "pgonce.id",
            Long.toString(first.id()),
            "pgonce.attempt",
            Integer.toString(first.attempt()),
            "pgonce.delivery_key",
            first.deliveryKey());
  }

  private static void restore(String key, @Nullable String value) {
    if (value == null) {
      MDC.remove(key);
    } else {
      MDC.put(key, value);
    }
  }
}
