package org.pgonce.console.internal.web;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Sessions of browsers: a cookie that only this process can have made. Nothing is kept, so nothing
 * fills up, and no browser can bring a session of its own choice: what is not signed is none. A
 * restart ends all.
 */
public final class Sessions {

  private static final Duration LONGEST = Duration.ofHours(12);
  private static final int BYTES = 32;

  private final SecureRandom random = new SecureRandom();
  private final SecretKeySpec key = new SecretKeySpec(bytes(), "HmacSHA256");
  private final Clock clock;

  public Sessions(Clock clock) {
    this.clock = clock;
  }

  /** A new session, as the cookie's value. */
  public String begin() {
    var ends = clock.instant().plus(LONGEST).getEpochSecond();
    var session = HexFormat.of().formatHex(bytes()) + "." + ends;
    return session + "." + signed("session", session);
  }

  /** The session of a cookie's value; null if it is none of ours, or has ended. */
  public @Nullable String of(@Nullable String cookie) {
    if (cookie == null) {
      return null;
    }
    var dot = cookie.lastIndexOf('.');
    var session = dot < 0 ? "" : cookie.substring(0, dot);
    if (!isSame(signed("session", session), cookie.substring(dot + 1))) {
      return null;
    }
    var ends = Long.parseLong(session.substring(session.indexOf('.') + 1));
    return clock.instant().getEpochSecond() < ends ? session : null;
  }

  /** The only one that a form of this session may bring. */
  public String csrfToken(String session) {
    return signed("csrf", session);
  }

  /** A secret to print at the start. */
  public String newToken() {
    return HexFormat.of().formatHex(bytes());
  }

  /** In a time that tells nothing of where they differ. */
  public static boolean isSame(String expected, @Nullable String given) {
    return given != null
        && MessageDigest.isEqual(
            expected.getBytes(StandardCharsets.UTF_8), given.getBytes(StandardCharsets.UTF_8));
  }

  private byte[] bytes() {
    var bytes = new byte[BYTES];
    random.nextBytes(bytes);
    return bytes;
  }

  private String signed(String purpose, String text) {
    try {
      var mac = Mac.getInstance("HmacSHA256");
      mac.init(key);
      return HexFormat.of()
          .formatHex(mac.doFinal((purpose + ' ' + text).getBytes(StandardCharsets.UTF_8)));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e); // every JDK has it
    }
  }
}
