package org.pgonce.benchmarks.work;

import java.sql.SQLException;
import java.util.function.LongConsumer;
import org.pgonce.testkit.TestDatabase;

/** The same table with no trigger: nothing is stored beside it, and there is nothing to do. */
public final class NoTrigger implements Way {

  @Override
  public String label() {
    return "no trigger";
  }

  @Override
  public boolean writesEffects() {
    return false;
  }

  @Override
  public void prepare(TestDatabase database) throws SQLException {
    Effects.prepare(database);
  }

  @Override
  public Contender open(TestDatabase database, Plan plan) throws SQLException {
    return new Idle(new WorkTable(database));
  }

  private record Idle(WorkTable table) implements OnWorkTable {

    @Override
    public void empty() throws SQLException {
      table.execute("truncate work");
    }

    @Override
    public void settle() throws SQLException {
      table.settle("work");
    }

    @Override
    public void start(LongConsumer handler) {
      // It has nothing to do.
    }

    @Override
    public long left() {
      return 0;
    }

    @Override
    public void close() throws SQLException {
      table.close();
    }
  }
}
