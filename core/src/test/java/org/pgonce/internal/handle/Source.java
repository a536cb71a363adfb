package org.pgonce.internal.handle;

import javax.sql.DataSource;
import org.pgonce.testkit.TestDatabase;

/** Where a claim's connection may come from. */
public enum Source {
  PGJDBC,
  PGJDBC_NG,
  HIKARI;

  public DataSource of(TestDatabase database) {
    return switch (this) {
      case PGJDBC -> database.dataSource();
      case PGJDBC_NG -> database.ngDataSource();
      case HIKARI -> database.pooled(2);
    };
  }
}
