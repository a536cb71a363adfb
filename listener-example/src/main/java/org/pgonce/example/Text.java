package org.pgonce.example;

import java.util.Locale;

/** Figures for people, in ASCII, the same in every locale. */
final class Text {

  private Text() {}

  static String number(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  /** Microseconds as milliseconds, with as many decimals as say something. */
  static String millis(long micros) {
    var millis = micros / 1e3;
    return String.format(Locale.ROOT, millis < 10 ? "%.2f ms" : "%,.0f ms", millis);
  }

  static String seconds(double seconds) {
    return String.format(Locale.ROOT, "%,.1f s", seconds);
  }
}
