package org.pgonce.stage;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;

/** What is logged while it is open, in this JVM. It still goes where it would. */
public final class Logged implements AutoCloseable {

  private final PrintStream before = System.out;
  private final ByteArrayOutputStream seen = new ByteArrayOutputStream();

  public Logged() {
    System.setOut(
        new PrintStream(seen, true, UTF_8) {
          @Override
          public void write(byte[] bytes, int from, int length) {
            super.write(bytes, from, length);
            before.write(bytes, from, length);
          }

          @Override
          public void write(int one) {
            super.write(one);
            before.write(one);
          }
        });
  }

  public String text() {
    return seen.toString(UTF_8);
  }

  /** How often it was logged. */
  public int count(String words) {
    return text().split(java.util.regex.Pattern.quote(words), -1).length - 1;
  }

  @Override
  public void close() {
    System.setOut(before);
  }
}
