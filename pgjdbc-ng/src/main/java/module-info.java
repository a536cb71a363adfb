import org.pgonce.pgjdbcng.PgjdbcNgSource;
import org.pgonce.spi.WakeUpSource;

/** Listens through pgjdbc-ng, to which PostgreSQL's NOTIFY is pushed. */
module org.pgonce.pgjdbcng {
  requires transitive org.pgonce;
  requires org.slf4j;
  requires pgjdbc.ng;
  requires java.naming; // the drivers' data sources are Referenceable

  exports org.pgonce.pgjdbcng;

  provides WakeUpSource with
      PgjdbcNgSource;
}
