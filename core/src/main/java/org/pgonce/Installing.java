package org.pgonce;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.pgonce.internal.jdbc.Failures;
import org.pgonce.internal.jdbc.LostConnection;
import org.pgonce.internal.jdbc.Transactions;
import org.pgonce.internal.store.Installation;
import org.pgonce.internal.store.OperatorName;

/**
 * Installs channel by channel, each in a transaction of its own. In one transaction the tables of
 * the first would stay locked, and their writers would wait, until the last had its lock.
 */
final class Installing {

  private static final int FEW = 10;

  private final Transactions transactions;
  private final String instance;
  private final List<String> installed = new ArrayList<>();

  Installing(Settings settings) {
    transactions = settings.transactions();
    instance = settings.listening().instance();
  }

  void install(List<Channel<?>> channels) {
    // In one order everywhere: two installations of the same channels go on side by side.
    var ordered = channels.stream().sorted(Comparator.comparing(Channel::name)).toList();
    if (ordered.isEmpty()) {
      run(ordered);
    }
    for (var channel : ordered) {
      if (!run(List.of(channel))) { // only the schema was brought up to date
        run(List.of(channel));
      }
      installed.add(channel.name());
    }
  }

  /** False if it has to be run once more. */
  private boolean run(List<Channel<?>> channels) {
    try {
      return transactions.run(
          transaction -> {
            OperatorName.set(transaction, instance);
            return Installation.run(transaction, channels);
          });
    } catch (SQLException e) {
      throw failed(channels, e);
    } catch (PgOnceException e) {
      if (installed.isEmpty()) {
        throw e;
      }
      throw new PgOnceException(e.getMessage() + before(), e);
    }
  }

  private PgOnceException failed(List<Channel<?>> channels, SQLException e) {
    var names = channels.stream().map(Channel::name).toList();
    // If it ended in the COMMIT, only the answer may have been lost.
    var outcome =
        LostConnection.isLikely(e)
            ? ", the connection ended and what became of it is not known (install again, it does no harm): "
            : ", nothing was changed: ";
    return new PgOnceException(
        "pgonce cannot install " + names + outcome + Failures.withHint(e) + before(), e);
  }

  private String before() {
    return installed.isEmpty()
        ? ""
        : ". Installed before that, each in a transaction of its own: "
            + (installed.size() <= FEW
                ? String.join(", ", installed)
                : installed.size() + " channels, up to " + installed.get(installed.size() - 1))
            + ". Install again to go on";
  }
}
