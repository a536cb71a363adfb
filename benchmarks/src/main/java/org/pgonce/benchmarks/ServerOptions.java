package org.pgonce.benchmarks;

import org.jspecify.annotations.Nullable;
import org.pgonce.testkit.TestServer;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** Options that say which server is measured. */
final class ServerOptions {

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

  /** A server, and a database of the run's own on it. */
  BenchmarkDatabase open() {
    return BenchmarkDatabase.open(existing);
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
