package org.pgonce.internal.listen;

import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.pgonce.spi.DataSourceReader;
import org.pgonce.spi.ListenAddress;

/** What a data source says of itself, by the readers that are on the class path. */
public final class ListenAddresses {

  private static final List<DataSourceReader> READERS = Services.found(DataSourceReader.class);

  /** Where to listen, as {@link DataSourceReader#addresses} says it. */
  @FunctionalInterface
  public interface Lookup {

    /** Throws a {@link ListenFailure} of kind POLLING if no address is known. */
    List<ListenAddress> find() throws ListenFailure;
  }

  private ListenAddresses() {}

  /** Asks the first reader that can tell. */
  public static List<ListenAddress> of(DataSource dataSource) throws ListenFailure {
    return of(dataSource, READERS);
  }

  static List<ListenAddress> of(DataSource dataSource, List<DataSourceReader> readers)
      throws ListenFailure {
    var why =
        "where the data source connects is not known: add the artifact pgonce-pools, which the artifact pgonce brings, or give the server's address with listenAddress(...)";
    for (var reader : readers) {
      try {
        return reader.addresses(dataSource);
      } catch (IllegalArgumentException unknown) {
        why = String.valueOf(unknown.getMessage());
      }
    }
    throw ListenFailure.polling(why);
  }

  /** The most connections that the data source gives out at once; null if that is not known. */
  public static @Nullable Integer poolSize(DataSource dataSource) {
    return READERS.stream()
        .map(reader -> reader.size(dataSource))
        .filter(Objects::nonNull)
        .findFirst()
        .orElse(null);
  }
}
