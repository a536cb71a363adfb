package org.pgonce.example.campaign;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.pgonce.PauseException;

/** The mail service, by HTTP. Safe for use by several threads. */
public final class MailClient {

  static final String KEY_HEADER = "Idempotency-Key";

  private static final int UNAVAILABLE = 503;
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final HttpClient client = HttpClient.newBuilder().connectTimeout(PATIENCE).build();
  private final URI service;

  public MailClient(URI service) {
    this.service = service;
  }

  /**
   * Sends a mail.
   *
   * @param key the service drops what it has seen under the same key
   * @throws PauseException if the service is down: then there is no use in trying the next mail
   * @throws IOException if this one failed
   */
  public void send(String key, String address)
      throws IOException, InterruptedException, PauseException {
    var request =
        HttpRequest.newBuilder(service)
            .timeout(PATIENCE)
            .header(KEY_HEADER, key)
            .POST(BodyPublishers.ofString(address))
            .build();
    var status = client.send(request, BodyHandlers.discarding()).statusCode();
    if (status == UNAVAILABLE) {
      throw new PauseException("the mail service is down (it answers " + status + ")");
    }
    if (status != 204) {
      throw new IOException("the mail service answers " + status);
    }
  }
}
