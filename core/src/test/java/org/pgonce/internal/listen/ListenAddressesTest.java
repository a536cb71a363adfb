package org.pgonce.internal.listen;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.pgonce.internal.listen.ListenFailure.Kind;
import org.pgonce.spi.DataSourceReader;
import org.pgonce.spi.ListenAddress;
import org.postgresql.ds.PGSimpleDataSource;

/** Which reader of data sources says where to listen, and what is said where none can. */
class ListenAddressesTest {

  private static final ListenAddress SHOP =
      new ListenAddress("db.example", 6543, "shop", "app", "s3cret", Map.of());
  private static final DataSource SOURCE = new PGSimpleDataSource();

  private static DataSourceReader reader(List<ListenAddress> known) {
    return new DataSourceReader() {
      @Override
      public List<ListenAddress> addresses(DataSource dataSource) {
        if (known.isEmpty()) {
          throw new IllegalArgumentException("its kind is not known");
        }
        return known;
      }

      @Override
      public Integer size(DataSource dataSource) {
        return null;
      }
    };
  }

  @Test
  void theFirstReaderThatCanTellSaysWhere() throws Exception {
    var readers = List.of(reader(List.of()), reader(List.of(SHOP)));
    assertThat(ListenAddresses.of(SOURCE, readers)).containsExactly(SHOP);
  }

  @Test
  void withoutOneThatCanTellItSaysWhyAndWhatToDo() {
    assertThatThrownBy(() -> ListenAddresses.of(SOURCE, List.of(reader(List.of()))))
        .isInstanceOfSatisfying(
            ListenFailure.class, e -> assertThat(e.kind()).isEqualTo(Kind.POLLING))
        .hasMessage("its kind is not known");
    assertThatThrownBy(() -> ListenAddresses.of(SOURCE, List.of()))
        .isInstanceOf(ListenFailure.class)
        .hasMessageContainingAll("pgonce-pools", "listenAddress(...)");
  }

  @Test
  void anAddressInALogKeepsThePassword() {
    assertThat(SHOP.toString()).isEqualTo("app@db.example:6543/shop");
  }
}
