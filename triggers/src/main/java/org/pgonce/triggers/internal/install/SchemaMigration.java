package org.pgonce.triggers.internal.install;

import org.pgonce.internal.store.Schema;
import org.pgonce.triggers.Migration;

/** The schema and the way back from it. */
public final class SchemaMigration {

  private static final String DOWN =
      """
      -- Removes pgonce with all its channels. Not while something waits in one: it would be lost.
      SET lock_timeout = '800 ms';
      DO $$
      BEGIN
        IF pg_catalog.to_regnamespace('pgonce') IS NOT NULL THEN
          PERFORM pgonce.refuse_loss(NULL);
        END IF;
      END
      $$;
      """;

  private SchemaMigration() {}

  public static Migration make() {
    return new Migration(
        Schema.script(), DOWN + Schema.uninstallScript() + "RESET lock_timeout;\n");
  }
}
