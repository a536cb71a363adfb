package org.pgonce.example.run;

import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.pgonce.Channel;
import org.pgonce.PgOnce;
import org.pgonce.triggers.TriggerChannel;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.TypeConversionException;

/** What pgonce says to a definition that is wrong. */
@Command(
    name = "mistake",
    mixinStandardHelpOptions = true,
    description = {
      "Installs and starts a channel whose definition is wrong, to see what pgonce says.",
      "Ends with status 3, as a service that makes the mistake would not start."
    })
public final class MistakeRun implements Callable<Integer> {

  /** The row as somebody remembers it: the column is called name. */
  record Writer(long id, String fullName) {}

  /** The row with a type that its column does not fit. */
  record NumberedAuthor(long id, int name) {}

  private enum Mistake {
    MISSING_TABLE,
    MISSING_COLUMN,
    WRONG_TYPE;

    Channel<?> channel() {
      return switch (this) {
        case MISSING_TABLE ->
            TriggerChannel.on("auhtor", WelcomePosts.Author.class).afterInsert().build();
        case MISSING_COLUMN -> TriggerChannel.on("author", Writer.class).afterInsert().build();
        case WRONG_TYPE -> TriggerChannel.on("author", NumberedAuthor.class).afterInsert().build();
      };
    }

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  @Parameters(
      paramLabel = "missing-table|missing-column|wrong-type",
      converter = MistakeConverter.class,
      description =
          "missing-table: the table does not exist. missing-column: the record has a component that the table has no column for. wrong-type: a column does not fit the type of its component.")
  private Mistake mistake = Mistake.MISSING_TABLE;

  @Mixin private final ServerOptions server = new ServerOptions();
  @Mixin private final ConsoleOptions shown = new ConsoleOptions();

  @Override
  public Integer call() {
    try (var stage = Stage.open(server, shown.console());
        var pool = stage.address().pool("mistake", 4);
        var pgonce = PgOnce.using(pool)) {
      start(pgonce, mistake.channel());
      stage.console().say("BROKEN: the mistake " + mistake + " was not noticed");
      return ExitStatus.BROKEN;
    }
  }

  private static <T> void start(PgOnce pgonce, Channel<T> channel) {
    pgonce.install(channel);
    pgonce.listen(channel, (notification, tx) -> {});
    pgonce.start();
  }

  static final class MistakeConverter implements ITypeConverter<Mistake> {
    @Override
    public Mistake convert(String name) {
      return Arrays.stream(Mistake.values())
          .filter(mistake -> mistake.toString().equals(name))
          .findFirst()
          .orElseThrow(
              () ->
                  new TypeConversionException(
                      "expected one of "
                          + Arrays.stream(Mistake.values())
                              .map(Mistake::toString)
                              .collect(Collectors.joining(", "))));
    }
  }
}
