package org.pgonce.internal.wakeup;

/** Whether HikariCP, an optional dependency, can be used from here. */
final class HikariPresence {

  static final boolean PRESENT = present();

  private HikariPresence() {}

  private static boolean present() {
    try {
      Class.forName(
          "com.zaxxer.hikari.HikariDataSource", false, HikariPresence.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException | LinkageError e) {
      return false; // simply not in use
    }
  }
}
