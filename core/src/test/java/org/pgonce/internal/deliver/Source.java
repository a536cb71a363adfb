package org.pgonce.internal.deliver;

import javax.sql.DataSource;
import org.pgonce.testkit.TestDatabase;

/** Where a claim's connection may come from. */
enum Source {
  PGJDBC,
  PGJDBC_NG,
  HIKARI;

  DataSource of(TestDatabase database) {
    return switch (this) {
      case PGJDBC -> database.dataSource();
      case PGJDBC_NG -> database.ngDataSource();
      case HIKARI -> database.pooled(2);
    };
  }
}
