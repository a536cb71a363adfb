package org.pgonce.benchmarks;

import java.io.PrintWriter;
import java.io.Writer;

/** Passes on what is written, and keeps the last line. */
final class LastLine extends Writer {

  private final PrintWriter out;
  private final StringBuilder line = new StringBuilder();
  private boolean ended;

  LastLine(PrintWriter out) {
    this.out = out;
  }

  @Override
  public void write(char[] characters, int offset, int length) {
    out.write(characters, offset, length);
    for (var i = offset; i < offset + length; i++) {
      if (characters[i] == '\n') {
        ended = true;
      } else {
        if (ended) {
          line.setLength(0);
          ended = false;
        }
        line.append(characters[i]);
      }
    }
  }

  String text() {
    return line.toString();
  }

  @Override
  public void flush() {
    out.flush();
  }

  @Override
  public void close() {
    out.flush();
  }
}
