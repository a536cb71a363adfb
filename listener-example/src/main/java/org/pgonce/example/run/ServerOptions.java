package org.pgonce.example.run;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** Options that say which server a run uses. */
public final class ServerOptions {

  @Option(
      names = "--url",
      paramLabel = "<jdbc-url>",
      converter = UrlConverter.class,
      defaultValue = "${env:" + DatabaseAddress.URL + "}",
      description = {
        "Use this server and not an embedded PostgreSQL, such as jdbc:postgresql://localhost:5432/postgres.",
        "The run makes a database of its own there and drops it in the end; it touches nothing else.",
        "Also by environment variable " + DatabaseAddress.URL + "."
      })
  @Nullable String url;

  @Option(
      names = "--user",
      paramLabel = "<role>",
      defaultValue = "${env:" + DatabaseAddress.USER + "}",
      description =
          "Who connects to it: a superuser, or a role with CREATEDB and CREATEROLE. Also by "
              + DatabaseAddress.USER
              + ".")
  @Nullable String user;

  @Option(
      names = "--password",
      interactive = true,
      arity = "0",
      description = "Ask for the password. Scripts set " + DatabaseAddress.PASSWORD + " instead.")
  @Nullable String password;

  @Option(names = "--keep", description = "Keep the database that the run has made on that server.")
  boolean keep;

  boolean isEmbedded() {
    return url == null || url.isEmpty();
  }

  /** What the options say of a server that is not embedded. */
  DatabaseAddress address() {
    return DatabaseAddress.parse(
        String.valueOf(url),
        blankAsNull(user),
        password != null ? password : blankAsNull(System.getenv(DatabaseAddress.PASSWORD)));
  }

  private static @Nullable String blankAsNull(@Nullable String value) {
    return value == null || value.isEmpty() ? null : value;
  }

  /** Checks it; what it says is read when all options are there. */
  static final class UrlConverter implements ITypeConverter<String> {
    @Override
    public String convert(String url) {
      try {
        var unused = DatabaseAddress.parse(url, null, null);
        return url;
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(String.valueOf(e.getMessage()));
      }
    }
  }
}
