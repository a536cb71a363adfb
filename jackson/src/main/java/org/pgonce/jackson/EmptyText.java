package org.pgonce.jackson;

import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.Currency;
import java.util.List;
import java.util.TimeZone;
import java.util.UUID;
import java.util.regex.Pattern;

/** The types of which Jackson would take an empty text for null. */
final class EmptyText {

  /** Not URI and Locale: of these an empty text is a value. */
  static final List<Class<?>> IS_NONE =
      List.of(
          UUID.class,
          Currency.class,
          TimeZone.class,
          Charset.class,
          Pattern.class,
          URL.class,
          File.class,
          Path.class,
          InetAddress.class,
          InetSocketAddress.class,
          Class.class);

  private EmptyText() {}
}
