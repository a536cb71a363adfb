package org.pgonce.testkit;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** Catches the answer to a message that fell into a trap. */
final class ServerAnswers implements Pump.Inspection {

  private static final byte[] NOTHING = {};

  /**
   * ReadyForQuery, which ends every answer: only then has the server done all that the message
   * asked for.
   */
  private static final Pattern END = Pattern.compile("Z\0\0\0\5[ITE]");

  /** By then a longer answer has been under way for long enough. */
  private static final int MAX_CAUGHT = 1_048_576;

  private final Link link;
  private final ByteArrayOutputStream caught = new ByteArrayOutputStream();

  ServerAnswers(Link link) {
    this.link = link;
  }

  @Override
  public byte[] inspect(byte[] chunk) throws InterruptedException {
    var trap = link.answerTrap().get();
    if (trap == null) {
      return chunk;
    }
    caught.writeBytes(chunk);
    // Bytes as text, one character each.
    if (caught.size() < MAX_CAUGHT
        && !END.matcher(caught.toString(StandardCharsets.ISO_8859_1)).find()) {
      return NOTHING;
    }
    if (trap.kind() == Trap.Kind.CUT_AFTER_FORWARDING) {
      link.cut();
      trap.spring();
      return NOTHING;
    }
    trap.spring();
    trap.awaitRelease();
    link.answerTrap().set(null);
    var answer = caught.toByteArray();
    caught.reset();
    return answer;
  }

  /** The server answers by hanging up. */
  @Override
  public void ended() {
    var trap = link.answerTrap().get();
    if (trap != null) {
      trap.spring();
    }
  }
}
