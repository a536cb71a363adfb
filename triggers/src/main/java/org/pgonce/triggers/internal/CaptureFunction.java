package org.pgonce.triggers.internal;

import org.pgonce.Mode;

/**
 * The function that a channel's triggers run. Whatever the writer's session has set, the payload is
 * the same; whatever the writer may not do on pgonce, the row is stored.
 */
final class CaptureFunction {

  private static final String CREATE =
      """
      CREATE OR REPLACE FUNCTION %1$s() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER
      SET search_path = pg_catalog, pg_temp
      SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'iso_8601'
      SET bytea_output = 'hex' SET extra_float_digits = '1' SET lc_monetary = 'C'
      AS $pgonce$%2$s$pgonce$;
      REVOKE ALL ON FUNCTION %1$s() FROM PUBLIC;
      """;

  // MATERIALIZED: one id per row, shared by the channel's subscriptions.
  private static final String STORE =
      """

      BEGIN
        WITH inserted AS MATERIALIZED (
          SELECT nextval('pgonce.notification_id') AS id, row_to_json(n) AS payload FROM new_rows n
        )
        INSERT INTO pgonce.notification (subscription_id, id, payload)
        SELECT s.id, i.id, i.payload
          FROM inserted i CROSS JOIN pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id
         WHERE c.name = %1$s;
        IF FOUND THEN
          PERFORM pgonce.wake_up(%1$s);
        END IF;
        RETURN NULL;
      END
      """;

  private static final String BROADCAST =
      """

      BEGIN
        PERFORM pgonce.broadcast(%1$s, row_to_json(n)::text) FROM new_rows n;
        RETURN NULL;
      END
      """;

  private CaptureFunction() {}

  static String name(Capture capture) {
    return "pgonce." + Quoted.identifier("capture_" + capture.channel());
  }

  static String body(Capture capture) {
    var form = capture.mode() == Mode.BROADCAST ? BROADCAST : STORE;
    return form.formatted(Quoted.literal(capture.channel()));
  }

  /** To be run as pgonce_owner. */
  static String create(Capture capture) {
    return CREATE.formatted(name(capture), body(capture));
  }
}
