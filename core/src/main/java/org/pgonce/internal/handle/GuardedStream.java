package org.pgonce.internal.handle;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.Writer;
import java.sql.SQLException;

/**
 * The streams that a driver hands out. Those of a large object talk to the server, and do not end
 * with the statement that they came from. Each call has the turn on the connection, and none gets
 * through after the handler has ended, {@code close()} excepted, which does nothing then.
 */
final class GuardedStream {

  private GuardedStream() {}

  private interface Action {
    void run() throws IOException;
  }

  private static <R> R call(HandlerScope scope, HandlerScope.Call<R, IOException> call)
      throws IOException {
    try {
      return scope.inTurn(
          () -> {
            scope.requireNoOpenCopy();
            try {
              return call.run();
            } catch (IOException e) {
              if (e.getCause() instanceof SQLException told) {
                throw told; // so that it is remembered
              }
              throw e;
            }
          });
    } catch (SQLException e) {
      throw new IOException(e);
    }
  }

  private static void act(HandlerScope scope, Action action) throws IOException {
    var unused =
        call(
            scope,
            () -> {
              action.run();
              return true;
            });
  }

  private static void close(HandlerScope scope, Action close) throws IOException {
    if (!scope.hasEnded()) {
      act(scope, close);
    }
  }

  static InputStream of(HandlerScope scope, InputStream real) {
    return new InputStream() {
      @Override
      public int read() throws IOException {
        return call(scope, real::read);
      }

      @Override
      public int read(byte[] bytes, int offset, int length) throws IOException {
        return call(scope, () -> real.read(bytes, offset, length));
      }

      @Override
      public int available() throws IOException {
        return call(scope, real::available);
      }

      @Override
      public void close() throws IOException {
        GuardedStream.close(scope, real::close);
      }
    };
  }

  static OutputStream of(HandlerScope scope, OutputStream real) {
    return new OutputStream() {
      @Override
      public void write(int value) throws IOException {
        act(scope, () -> real.write(value));
      }

      @Override
      public void write(byte[] bytes, int offset, int length) throws IOException {
        act(scope, () -> real.write(bytes, offset, length));
      }

      @Override
      public void flush() throws IOException {
        act(scope, real::flush);
      }

      @Override
      public void close() throws IOException {
        GuardedStream.close(scope, real::close);
      }
    };
  }

  static Reader of(HandlerScope scope, Reader real) {
    return new Reader() {
      @Override
      public int read(char[] characters, int offset, int length) throws IOException {
        return call(scope, () -> real.read(characters, offset, length));
      }

      @Override
      public boolean ready() throws IOException {
        return call(scope, real::ready);
      }

      @Override
      public void close() throws IOException {
        GuardedStream.close(scope, real::close);
      }
    };
  }

  static Writer of(HandlerScope scope, Writer real) {
    return new Writer() {
      @Override
      public void write(char[] characters, int offset, int length) throws IOException {
        act(scope, () -> real.write(characters, offset, length));
      }

      @Override
      public void flush() throws IOException {
        act(scope, real::flush);
      }

      @Override
      public void close() throws IOException {
        GuardedStream.close(scope, real::close);
      }
    };
  }
}
