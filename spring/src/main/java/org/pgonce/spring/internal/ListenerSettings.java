package org.pgonce.spring.internal;

import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.pgonce.ListenOptions;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.PgOnceProperties.ChannelSettings;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.convert.DurationStyle;

/** Reads what an annotation says, placeholders resolved. */
final class ListenerSettings {

  private final ConfigurableListableBeanFactory beans;
  private final String where;

  ListenerSettings(ConfigurableListableBeanFactory beans, String where) {
    this.beans = beans;
    this.where = where;
  }

  /**
   * @throws IllegalStateException if a placeholder in it has no value
   */
  String text(String value) {
    try {
      var resolved = beans.resolveEmbeddedValue(value);
      return resolved == null ? "" : resolved.strip();
    } catch (IllegalArgumentException e) {
      throw new Refusal(where + ": " + e.getMessage(), e);
    }
  }

  /**
   * @throws IllegalStateException if a setting cannot be read, or is outside its bounds
   */
  ListenOptions options(PgOnceListener said) {
    var settings =
        new ChannelSettings(
            read("concurrency", said.concurrency(), Integer::valueOf),
            read("batch", said.batch(), Integer::valueOf),
            read("maxAttempts", said.maxAttempts(), Integer::valueOf),
            read("backoffFirst", said.backoffFirst(), ListenerSettings::duration),
            read("backoffLongest", said.backoffLongest(), ListenerSettings::duration),
            read("handlerTimeout", said.handlerTimeout(), ListenerSettings::duration),
            read("lease", said.lease(), ListenerSettings::duration));
    try {
      return settings.over(ListenOptions.DEFAULT);
    } catch (IllegalArgumentException e) {
      throw new Refusal(where + ": " + e.getMessage(), e);
    }
  }

  private static Duration duration(String text) {
    return DurationStyle.detectAndParse(text);
  }

  private <V> @Nullable V read(String name, String value, Function<String, V> reader) {
    var text = text(value);
    try {
      return text.isEmpty() ? null : reader.apply(text);
    } catch (IllegalArgumentException e) {
      throw new Refusal(
          "%s: %s = \"%s\" cannot be read: %s".formatted(where, name, text, e.getMessage()), e);
    }
  }
}
