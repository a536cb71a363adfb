package org.pgonce.example.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.UUID;

/**
 * A database of the run's own with the tables of the example. On a server that is not embedded it
 * is dropped in the end, and so are the roles of pgonce if they were not there before.
 */
final class ExampleDatabase implements AutoCloseable {

  private static final String OWN_ROLES =
      "select count(*) from pg_roles where rolname in ('pgonce_owner', 'pgonce_publisher', 'pgonce_listener', 'pgonce_guard', 'pgonce_admin', 'pgonce_monitor', 'pgonce_installer')";

  private final ExampleServer server;
  private final DatabaseAddress address;
  private final String name;
  private final boolean keep;
  private final boolean ownRoles;

  private ExampleDatabase(ExampleServer server, String name, boolean keep, boolean ownRoles) {
    this.server = server;
    this.address = server.maintenance().database(name);
    this.name = name;
    this.keep = keep;
    this.ownRoles = ownRoles;
  }

  static ExampleDatabase create(ExampleServer server, boolean keep) {
    var name = "pgonce_example_" + UUID.randomUUID().toString().substring(0, 8);
    try {
      var ownRoles = Sql.number(server.maintenance(), OWN_ROLES) == 0;
      Sql.execute(server.maintenance(), "create database " + name);
      var database = new ExampleDatabase(server, name, keep, ownRoles);
      Sql.execute(database.address, tables());
      return database;
    } catch (SQLException e) {
      throw new CannotRunException(
          "cannot make a database of its own at "
              + server.maintenance()
              + ": "
              + e.getMessage()
              + ". The role must be a superuser, or have CREATEDB and CREATEROLE",
          e);
    }
  }

  private static String tables() {
    try (var in = ExampleDatabase.class.getResourceAsStream("tables.sql")) {
      if (in == null) {
        throw new IllegalStateException("tables.sql is missing from the jar of the example");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  DatabaseAddress address() {
    return address;
  }

  String name() {
    return name;
  }

  /** Drops it, with whoever is still connected. */
  @Override
  public void close() throws SQLException {
    if (keep || server.isEmbedded()) {
      return;
    }
    Sql.execute(server.maintenance(), "drop database if exists " + name + " with (force)");
    if (ownRoles) {
      Sql.execute(
          server.maintenance(),
          "drop role if exists pgonce_publisher, pgonce_listener, pgonce_guard, pgonce_admin, pgonce_monitor, pgonce_installer, pgonce_owner");
    }
  }
}
