package org.pgonce.triggers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.Scope;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.resource.CompositeResourceAccessor;
import liquibase.resource.DirectoryResourceAccessor;
import org.flywaydb.core.Flyway;
import org.pgonce.testkit.Login;
import org.pgonce.testkit.TestDatabase;

/** A database with a deploying role that is no superuser, and the tools that it runs. */
final class MigrationScene {

  /**
   * All that a migration may change, but ids, times, the log of operations, and the rights of who
   * installs on the schemas and the sequence of ids, which stay with that role.
   */
  private static final String CATALOG =
      """
      select coalesce(string_agg(line, e'\\n' order by line), '') from (
        select 'function ' || pg_get_functiondef(p.oid) || coalesce(p.proacl::text, '') || p.proowner::regrole || coalesce(obj_description(p.oid, 'pg_proc'), '')
          from pg_proc p where p.pronamespace in (to_regnamespace('pgonce'), to_regnamespace('pgonce_private'), to_regnamespace('pgonce_triggers')) and p.prokind = 'f'
        union all
        select 'trigger ' || pg_get_triggerdef(t.oid) || t.tgenabled::text from pg_trigger t where not t.tgisinternal
        union all
        select 'class ' || c.relname || c.relkind::text || array(select a::text from unnest(coalesce(c.relacl, acldefault((case c.relkind when 'S' then 's' else 'r' end)::"char", c.relowner))) as a where a::text !~ '^"?deployer')::text || c.relowner::regrole from pg_class c where c.relnamespace = to_regnamespace('pgonce')
        union all
        select 'default ' || d.defaclacl::text from pg_default_acl d
        union all
        select 'schema ' || n.nspname || array(select a::text from unnest(n.nspacl) as a where a::text !~ '^"?deployer')::text from pg_namespace n where n.nspname !~ '^pg_'
      ) as s (line)
      """;

  private static final String CHANNELS =
      """
      select coalesce(string_agg(concat_ws(' ', to_jsonb(c) - array['id', 'numbered', 'held_until', 'installed_at', 'installed_by', 'changed_at', 'changed_by'],
               (select jsonb_object_agg(s.name, s.filter) from pgonce.subscription s where s.channel_id = c.id)), e'\\n' order by c.name), '')
        from pgonce.channel c
      """;

  private final TestDatabase database;
  private final Path directory;
  private final Login deployer;

  private MigrationScene(TestDatabase database, Path directory, Login deployer) {
    this.database = database;
    this.directory = directory;
    this.deployer = deployer;
  }

  static MigrationScene of(TestDatabase database, Path directory) throws SQLException {
    for (var role : List.of("owner", "installer", "publisher", "listener", "admin", "monitor")) {
      database.execute(
          "do $$ begin create role pgonce_%s nologin; exception when duplicate_object or unique_violation then null; end $$"
              .formatted(role));
    }
    var deployer = database.loginRole("deployer", "pgonce_owner");
    database.execute(
        "grant create on database %s to %s; grant create on schema public to %2$s"
            .formatted(database.name(), deployer.user()));
    return new MigrationScene(database, directory, deployer);
  }

  /** Lets the deploying role act as another. */
  void makeMemberOf(Login role) throws SQLException {
    database.execute("grant %s to %s".formatted(role.user(), deployer.user()));
  }

  /** As the deploying role. */
  void execute(String sql) throws SQLException {
    try (var connection = deployer.dataSource().getConnection();
        var statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute(sql);
      connection.commit();
    }
  }

  /** Catalogs and channels. */
  String state() throws SQLException {
    var schema = database.queryString("select to_regnamespace('pgonce')::text") != null;
    return database.queryString(CATALOG) + (schema ? "\n" + database.queryString(CHANNELS) : "");
  }

  void write(Map<String, String> files) {
    files.forEach(this::write);
  }

  void write(String name, String text) {
    try {
      Files.writeString(directory.resolve(name), text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns how many migrations it has run. */
  int flyway() {
    return Flyway.configure()
        .dataSource(deployer.dataSource())
        .locations("filesystem:" + directory)
        .baselineOnMigrate(true)
        .baselineVersion("0")
        .load()
        .migrate()
        .migrationsExecuted;
  }

  void update(String changelog) throws Exception {
    liquibase(changelog, liquibase -> liquibase.update(new Contexts(), new LabelExpression()));
  }

  void rollBackLast(String changelog) throws Exception {
    liquibase(
        changelog, liquibase -> liquibase.rollback(1, "", new Contexts(), new LabelExpression()));
  }

  private interface Work {
    void on(Liquibase liquibase) throws Exception;
  }

  private void liquibase(String changelog, Work work) throws Exception {
    Map<String, Object> quiet = Map.of("liquibase.analytics.enabled", false);
    Scope.child(
        quiet,
        () -> {
          try (var connection = deployer.dataSource().getConnection()) {
            var target =
                DatabaseFactory.getInstance()
                    .findCorrectDatabaseImplementation(new JdbcConnection(connection));
            // With what the jars on the classpath bring.
            var files =
                new CompositeResourceAccessor(
                    new DirectoryResourceAccessor(directory), new ClassLoaderResourceAccessor());
            work.on(new Liquibase(changelog, files, target));
          }
        });
  }
}
