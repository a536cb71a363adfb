package org.pgonce.example;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.pgonce.Channel;
import org.pgonce.Mode;
import org.pgonce.spi.ChannelFeed;

/** Stands in for the module pgonce-triggers. */
record AuthorTrigger(String name, Mode mode) implements Channel<WelcomePosts.Author> {

  static Channel<WelcomePosts.Author> channel(String name, Mode mode) {
    return new AuthorTrigger(name, mode);
  }

  @Override
  public Class<WelcomePosts.Author> payloadType() {
    return WelcomePosts.Author.class;
  }

  @Override
  public ChannelFeed feed() {
    return new ChannelFeed() {
      @Override
      public String description() {
        return "trigger by hand";
      }

      @Override
      public void install(Connection transaction, Channel<?> channel) throws SQLException {
        try (var statement = transaction.createStatement()) {
          try (var there =
              statement.executeQuery("select to_regproc('public.author_added') is not null")) {
            there.next();
            if (there.getBoolean(1)) {
              return;
            }
          }
          statement.execute(
              """
              create function public.author_added() returns trigger language plpgsql security definer as $$
              begin
                perform pgonce.publish_all('%s', (select json_agg(json_build_object('id', a.id, 'name', a.name)) from added a));
                return null;
              end $$;
              create trigger author_added after insert on public.author referencing new table as added
                for each statement execute function public.author_added()
              """
                  .formatted(name));
        }
      }

      @Override
      public List<String> problems(Connection connection, Channel<?> channel) {
        return List.of();
      }

      @Override
      public String migration(Channel<?> channel) {
        return "";
      }
    };
  }
}
