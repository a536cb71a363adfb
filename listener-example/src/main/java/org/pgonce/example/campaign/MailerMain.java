package org.pgonce.example.campaign;

import java.net.URI;
import org.pgonce.PgOnce;
import org.pgonce.PgOnceException;
import org.pgonce.example.run.DatabaseAddress;
import org.pgonce.example.run.ExitStatus;
import org.pgonce.example.run.ListenerMain;
import org.pgonce.testkit.ParentWatch;

/** One process that sends mails, until it is told to end or killed. */
final class MailerMain {

  private MailerMain() {}

  /**
   * Listens until told to end.
   *
   * @param arguments name of this process, lots at once, address of the mail service
   */
  public static void main(String[] arguments) throws InterruptedException {
    ParentWatch.exitWhenParentDies();
    var name = arguments[0];
    var options = MailCampaign.LISTENING.withConcurrency(Integer.parseInt(arguments[1]));
    var mails = new MailClient(URI.create(arguments[2]));
    // For each lot pgonce's connection and the campaign's own, and two for all that does not wait.
    try (var pool = DatabaseAddress.fromEnvironment().pool(name, 2 * options.concurrency() + 2);
        var pgonce = PgOnce.builder(pool).instance(name).build()) {
      pgonce.listen(MailCampaign.LOTS, options, new MailCampaign(pool, mails)).start();
      System.out.println(ListenerMain.LISTENING);
      pgonce.awaitStopped();
    } catch (PgOnceException e) {
      System.out.println(e.getMessage());
      System.exit(ExitStatus.CANNOT_RUN);
    }
  }
}
