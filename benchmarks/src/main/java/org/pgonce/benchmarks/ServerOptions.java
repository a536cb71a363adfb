package org.pgonce.benchmarks;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.pgonce.testkit.TestServer;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** Options that say which server is measured. */
final class ServerOptions {

  @Spec(Spec.Target.MIXEE)
  private @Nullable CommandSpec spec;

  static final String FSYNC = "--fsync";
  static final String FLUSH = "--flush";

  private static final String URL = "PGONCE_BENCHMARKS_URL";

  @Option(
      names = "--url",
      paramLabel = "<jdbc-url>",
      converter = UrlConverter.class,
      defaultValue = "${env:" + URL + "}",
      description = {
        "Use this server and not an embedded PostgreSQL, such as jdbc:postgresql://localhost:5432/postgres?user=…&password=…, with a superuser's login.",
        "The run makes a database of its own there and drops it in the end, and so the roles of pgonce if there were none.",
        "Also by environment variable " + URL + ", which other users cannot read."
      })
  private @Nullable TestServer existing;

  @Option(
      names = FSYNC,
      paramLabel = "<on|off>",
      description = {
        "Whether commits wait for the disk: off sets fsync and synchronous_commit off, which no production has. Default on.",
        "Only for an embedded server: one of yours keeps its settings."
      })
  private @Nullable OnOff fsync;

  private int flush;

  @Option(
      names = FLUSH,
      paramLabel = "<ms>",
      defaultValue = "0",
      description = {
        "Milliseconds that each flush of the log takes longer, 0 to 100: a slow disk (commit_delay). Default ${DEFAULT-VALUE}.",
        "Only for an embedded server that waits for the disk."
      })
  void flush(int value) {
    flush = Bounds.require(spec, FLUSH, value, 0, 100);
  }

  enum OnOff {
    on,
    off
  }

  /** A server, and a database of the run's own on it. */
  BenchmarkDatabase open() {
    return open(Map.of());
  }

  /**
   * The same.
   *
   * @param settings of an embedded server; one that was there is to have them
   */
  BenchmarkDatabase open(Map<String, String> settings) {
    if (existing != null && (fsync != null || flush > 0)) {
      throw refused("%s is for embedded servers, and --url names another", fsync == null);
    }
    if (fsync == OnOff.off && flush > 0) {
      throw refused("%s is for servers that wait for the disk, and --fsync off does not", true);
    }
    var all = new HashMap<>(settings);
    if (flush > 0) {
      all.put("commit_delay", String.valueOf(1_000 * flush));
      all.put("commit_siblings", "0");
    }
    if (fsync == OnOff.off) {
      all.put("fsync", "off");
      all.put("synchronous_commit", "off");
    }
    return BenchmarkDatabase.open(existing, all);
  }

  private ParameterException refused(String why, boolean flushes) {
    return new ParameterException(
        Objects.requireNonNull(spec).commandLine(), why.formatted(flushes ? FLUSH : FSYNC));
  }

  /** What is added to the names of plots. */
  String suffix() {
    return flush > 0 ? "-flush-" + flush : "";
  }

  static final class UrlConverter implements ITypeConverter<TestServer> {
    @Override
    public TestServer convert(String url) {
      try {
        return TestServer.existing(url);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(String.valueOf(e.getMessage()));
      }
    }
  }
}
