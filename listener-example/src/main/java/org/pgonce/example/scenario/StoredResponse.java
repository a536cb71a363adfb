package org.pgonce.example.scenario;

import org.pgonce.example.run.Scenario;
import org.pgonce.example.run.Scene;
import org.pgonce.guards.Guard;
import org.pgonce.guards.GuardResult;
import org.pgonce.guards.Guards;
import org.pgonce.guards.RequestMismatchException;
import picocli.CommandLine.Command;

/** S7: a repeated request gets the first answer; a key belongs to one request. */
@Command(
    name = "s07-stored-response",
    mixinStandardHelpOptions = true,
    description =
        "A booking is answered with its price; a repeat gets the same answer after the price has changed, and the same key with another request is an error.")
public final class StoredResponse extends Scenario {

  record Booking(String flight, int seats) {}

  record Booked(String flight, int seats, String price) {}

  /** The key is the client's, as in the header Idempotency-Key. */
  static final Guard<Booking, Booked> BOOKING = Guard.of("booking", Booking.class, Booked.class);

  private static GuardResult<Booked> book(
      Guards guards, String airline, String key, Booking booking) {
    return guards.once(
        BOOKING,
        key,
        booking,
        () -> {
          var price = Outside.send("POST", airline + "/flights/" + booking.flight());
          return new Booked(booking.flight(), booking.seats(), price);
        });
  }

  @Override
  protected String play(Scene scene) throws Exception {
    try (var airline = new Outside()) {
      airline.answers(path -> "100 EUR");
      var two = new Booking("PO1", 2);
      var before = Guards.using(scene.dataSource()).install();
      var first = book(before, airline.url(), "key-1", two).orElseThrow();
      scene.tell("first", first.toString());

      airline.answers(path -> "120 EUR");
      scene.tell("meanwhile", "the price is 120 EUR");
      // Another instance of the service, which knows nothing but the database.
      var after = Guards.using(scene.dataSource());
      var repeat = book(after, airline.url(), "key-1", two).orElseThrow();
      scene.tell("repeat", repeat.toString());
      scene.isTrue("the repeat has the first answer", repeat.equals(first));
      scene.isTrue("the first answer is the first price", repeat.price().equals("100 EUR"));
      scene.check("calls", airline.calls(), 1, "for the request and its repeat");

      var refused = 0;
      try {
        var unused = book(after, airline.url(), "key-1", new Booking("PO1", 3));
      } catch (RequestMismatchException e) {
        refused++;
        scene.tell("refused", String.valueOf(e.getMessage()));
      }
      scene.check("refused", refused, 1, "the same key with another request");
      scene.check("calls", airline.calls(), 1, "still");

      var other = book(after, airline.url(), "key-2", two).orElseThrow();
      scene.tell("key-2", other.toString());
      scene.isTrue("another key has the new price", other.price().equals("120 EUR"));
      scene.check("calls", airline.calls(), 2, "for two keys");
    }
    return "a repeat gets the first answer, another request under its key an error";
  }
}
