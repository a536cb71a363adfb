package org.pgonce.internal.deliver;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.Writer;
import java.sql.SQLException;

/**
 * The streams that a driver hands out, of large objects and columns: each call has the turn on the
 * connection, and none gets through after the handler has ended, {@code close()} excepted, which
 * does nothing then.
 */
final class GuardedStream {

  private final HandlerScope scope;

  private GuardedStream(HandlerScope scope) {
    this.scope = scope;
  }

  private interface Call<R> {
    R run() throws IOException;
  }

  private interface Action {
    void run() throws IOException;
  }

  private <R> R call(Call<R> call) throws IOException {
    if (!scope.enter()) {
      throw new IOException(scope.usedAfterEnd());
    }
    try {
      scope.requireNoOpenCopy();
      return call.run();
    } catch (SQLException e) {
      throw new IOException(scope.noted(e));
    } catch (IOException e) {
      if (e.getCause() instanceof SQLException error) {
        var unused = scope.noted(error);
      }
      throw e;
    } finally {
      scope.leave();
    }
  }

  private void act(Action action) throws IOException {
    var unused =
        call(
            () -> {
              action.run();
              return true;
            });
  }

  private void close(Action close) throws IOException {
    if (!scope.hasEnded()) {
      act(close);
    }
  }

  static InputStream of(HandlerScope scope, InputStream real) {
    return new Input(new GuardedStream(scope), real);
  }

  static OutputStream of(HandlerScope scope, OutputStream real) {
    return new Output(new GuardedStream(scope), real);
  }

  static Reader of(HandlerScope scope, Reader real) {
    return new Characters(new GuardedStream(scope), real);
  }

  static Writer of(HandlerScope scope, Writer real) {
    return new CharacterOutput(new GuardedStream(scope), real);
  }

  private static final class Input extends InputStream {
    private final GuardedStream guard;
    private final InputStream real;

    private Input(GuardedStream guard, InputStream real) {
      this.guard = guard;
      this.real = real;
    }

    @Override
    public int read() throws IOException {
      return guard.call(real::read);
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return guard.call(() -> real.read(bytes, offset, length));
    }

    @Override
    public long skip(long count) throws IOException {
      return guard.call(() -> real.skip(count));
    }

    @Override
    public int available() throws IOException {
      return guard.call(real::available);
    }

    @Override
    public boolean markSupported() {
      return false;
    }

    @Override
    public void close() throws IOException {
      guard.close(real::close);
    }
  }

  private static final class Output extends OutputStream {
    private final GuardedStream guard;
    private final OutputStream real;

    private Output(GuardedStream guard, OutputStream real) {
      this.guard = guard;
      this.real = real;
    }

    @Override
    public void write(int value) throws IOException {
      guard.act(() -> real.write(value));
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      guard.act(() -> real.write(bytes, offset, length));
    }

    @Override
    public void flush() throws IOException {
      guard.act(real::flush);
    }

    @Override
    public void close() throws IOException {
      guard.close(real::close);
    }
  }

  private static final class Characters extends Reader {
    private final GuardedStream guard;
    private final Reader real;

    private Characters(GuardedStream guard, Reader real) {
      this.guard = guard;
      this.real = real;
    }

    @Override
    public int read(char[] characters, int offset, int length) throws IOException {
      return guard.call(() -> real.read(characters, offset, length));
    }

    @Override
    public boolean ready() throws IOException {
      return guard.call(real::ready);
    }

    @Override
    public void close() throws IOException {
      guard.close(real::close);
    }
  }

  private static final class CharacterOutput extends Writer {
    private final GuardedStream guard;
    private final Writer real;

    private CharacterOutput(GuardedStream guard, Writer real) {
      this.guard = guard;
      this.real = real;
    }

    @Override
    public void write(char[] characters, int offset, int length) throws IOException {
      guard.act(() -> real.write(characters, offset, length));
    }

    @Override
    public void flush() throws IOException {
      guard.act(real::flush);
    }

    @Override
    public void close() throws IOException {
      guard.close(real::close);
    }
  }
}
