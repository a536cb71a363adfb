package org.pgonce.testkit;

/** Looks in what a client sends for the statement that springs a trap. */
final class ClientMessages implements Pump.Inspection {

  private static final byte[] NOTHING = {};

  private final Link link;
  private final Traps traps;
  private final StatementReader statements = new StatementReader();
  private String previous = "";

  ClientMessages(Link link, Traps traps) {
    this.link = link;
    this.traps = traps;
  }

  @Override
  public byte[] inspect(byte[] chunk) {
    for (var sql : statements.read(chunk)) {
      var trap = traps.take(previous, sql);
      previous = sql;
      if (trap.isEmpty()) {
        continue;
      }
      if (trap.get().kind() == Trap.Kind.CUT_BEFORE_FORWARDING) {
        // The message ends in this chunk: whatever of it went on before, the server waits for the
        // rest and gets a reset.
        link.cut();
        trap.get().spring();
        return NOTHING;
      }
      link.trapNextAnswer(trap.get());
    }
    return chunk;
  }

  @Override
  public void ended() {}
}
