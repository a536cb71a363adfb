package org.pgonce.console.internal.act;

import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What can be done. The names are those of the command line. */
public enum Verb {
  PAUSE("pause", "Pause", "subscriptions", "paused", "pgonce.pause(text,text,text)"),
  RESUME("resume", "Resume", "subscriptions", "resumed", "pgonce.resume(text,text,text)"),
  RETRY_NOW(
      "retry-now",
      "Retry now",
      "notifications",
      "made due",
      "pgonce.retry_now(text,bigint[],text,text)"),
  CANCEL(
      "cancel",
      "Cancel",
      "notifications",
      "cancelled",
      "pgonce.cancel(text,bigint[],text[],text,text)"),
  REDRIVE(
      "redrive",
      "Redrive",
      "dead letters",
      "redriven",
      "pgonce.redrive(text,bigint[],text,text,text,text,timestamptz,timestamptz)"),
  DISCARD(
      "discard",
      "Discard",
      "dead letters",
      "discarded",
      "pgonce.discard(text,bigint[],text,text,text,text,timestamptz,timestamptz)");

  private final String word;
  private final String label;
  private final String things;
  private final String participle;
  private final String function;

  Verb(String word, String label, String things, String participle, String function) {
    this.word = word;
    this.label = label;
    this.things = things;
    this.participle = participle;
    this.function = function;
  }

  /** Empty for any other word. */
  public static Optional<Verb> of(@Nullable String word) {
    return Arrays.stream(values()).filter(verb -> verb.word.equals(word)).findFirst();
  }

  public String word() {
    return word;
  }

  /** On a button. */
  public String label() {
    return label;
  }

  /** What it touches, as in «12 dead letters». */
  public String things() {
    return things;
  }

  public String participle() {
    return participle;
  }

  /** What it calls, as {@code has_function_privilege} takes it. */
  String function() {
    return function;
  }

  /** Whether it concerns dead letters: by ids, or all that fit a filter. */
  public boolean isOfDeadLetters() {
    return this == REDRIVE || this == DISCARD;
  }

  /** Whether it concerns notifications that wait: by ids, or to retry all that failed. */
  public boolean isOfWaiting() {
    return this == RETRY_NOW || this == CANCEL;
  }

  /** Whether it concerns subscriptions, and not what is in them. */
  public boolean isOfSubscriptions() {
    return this == PAUSE || this == RESUME;
  }
}
