package org.pgonce.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Clock;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.chrono.IsoChronology;
import java.util.Calendar;
import java.util.Date;
import java.util.GregorianCalendar;
import java.util.Timer;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class WallClockTest {

  /** Each of the ways; never run. */
  @SuppressWarnings({"JavaUtilDate", "JavaTimeDefaultTimeZone", "JdkObsolete", "unused"})
  static final class Asker {
    private final Supplier<Instant> byReference = Instant::now;

    Object[] asks() {
      LockSupport.parkUntil(System.currentTimeMillis());
      return new Object[] {
        Clock.systemUTC(),
        LocalDate.now(),
        LocalDateTime.now(ZoneOffset.UTC),
        OffsetDateTime.now(),
        ZonedDateTime.now(),
        IsoChronology.INSTANCE.dateNow(),
        new Date(),
        Calendar.getInstance(),
        new GregorianCalendar(),
        new Timer()
      };
    }
  }

  /** What has to do with time and does not ask what time it is. */
  @SuppressWarnings({"JavaUtilDate", "JdkObsolete", "unused"})
  static final class Reckoner {
    Object[] reckons() {
      return new Object[] {
        new Date(0), new GregorianCalendar(1970, 0, 1), Instant.EPOCH, System.nanoTime(), 1L, 2.0
      };
    }
  }

  @Test
  void h80_eachWayToAskForItIsSeenAndNothingElse() throws Exception {
    assertThat(WallClock.readByModuleOf(WallClockTest.class))
        .filteredOn(read -> read.startsWith("WallClockTest$"))
        .containsExactly(
            "WallClockTest$Asker: java/lang/System.currentTimeMillis",
            "WallClockTest$Asker: java/time/Clock.systemUTC",
            "WallClockTest$Asker: java/time/Instant.now",
            "WallClockTest$Asker: java/time/LocalDate.now",
            "WallClockTest$Asker: java/time/LocalDateTime.now",
            "WallClockTest$Asker: java/time/OffsetDateTime.now",
            "WallClockTest$Asker: java/time/ZonedDateTime.now",
            "WallClockTest$Asker: java/time/chrono/IsoChronology.dateNow",
            "WallClockTest$Asker: java/util/Calendar.getInstance",
            "WallClockTest$Asker: java/util/Date.<init>",
            "WallClockTest$Asker: java/util/GregorianCalendar.<init>",
            "WallClockTest$Asker: java/util/Timer.<init>",
            "WallClockTest$Asker: java/util/concurrent/locks/LockSupport.parkUntil");
  }
}
