package org.pgonce.spring.contract;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceContext;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.hibernate.SessionFactory;
import org.jooq.DSLContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pgonce.Notification;
import org.pgonce.Tx;
import org.pgonce.spring.PgOnceListener;
import org.pgonce.spring.contract.ContractApplication.Job;
import org.pgonce.testkit.PgTest;
import org.pgonce.testkit.TestDatabase;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.transaction.annotation.Transactional;

/** Whatever a listener writes with, it writes in its notification's transaction. */
@PgTest
@Tag("second")
class JoinedWorkTest {

  private static final List<String> WAYS =
      List.of(
          "repository", "entity manager", "JdbcClient", "JdbcTemplate", "jOOQ", "MyBatis", "Tx");

  @Test
  void h43_everyWayIsUndoneWithTheAttempt(TestDatabase database) throws Exception {
    try (var service = Service.start(database, EveryWay.class)) {
      service.publish(1, 20);
      service.awaitQuiet();
      for (var way : WAYS) {
        assertThat(service.effects(way)).as(way).isEqualTo(20);
      }
      assertThat(service.effects("at another session")).isZero();
      assertThat(service.deadLetters()).isZero();
    }
  }

  @Transactional
  static class EveryWay {

    @Autowired Effects effects;
    @PersistenceContext EntityManager entities;
    @Autowired JdbcClient client;
    @Autowired JdbcTemplate template;
    @Autowired DSLContext jooq;
    @Autowired EffectMapper mapper;

    @PgOnceListener(channel = "job")
    void handle(Job job, Notification<Job> notification, Tx tx) throws Exception {
      effects.save(new Effect(job.number(), "repository"));
      entities.persist(new Effect(job.number(), "entity manager"));
      var insert = "INSERT INTO effect (number, how) VALUES (?, ?)";
      client.sql(insert).params(job.number(), "JdbcClient").update();
      template.update(insert, job.number(), "JdbcTemplate");
      jooq.query(insert, job.number(), "jOOQ").execute();
      mapper.add(job.number(), "MyBatis");
      tx.update(insert, job.number(), "Tx");
      var pid = "SELECT pg_backend_pid()";
      var pids =
          List.of(
              tx.query(pid, row -> row.getInt(1)).get(0),
              client.sql(pid).query(Integer.class).single(),
              jooq.fetchOne(pid).get(0, Integer.class),
              (Integer) entities.createNativeQuery(pid, Integer.class).getSingleResult());
      if (pids.stream().distinct().count() != 1) {
        tx.update(insert, job.number(), "at another session");
      }
      if (notification.attempt() == 1) {
        throw new IllegalStateException("the first attempt fails behind all of its work");
      }
    }
  }

  @Test
  void h43_workThatOnlyTheFlushRefusesIsAFailure(TestDatabase database) throws Exception {
    try (var service = Service.start(database, RefusedByFlush.class)) {
      service.publish(1, 1);
      service.awaitQuiet();
      assertThat(service.deadLetters()).isEqualTo(1);
      assertThat(service.effects("before")).isZero();
    }
  }

  static class RefusedByFlush {

    @Autowired Effects effects;
    @PersistenceContext EntityManager entities;

    @PgOnceListener(channel = "job", maxAttempts = "1")
    void handle(Job job) {
      effects.save(new Effect(job.number(), "before")).becomes(null); // NOT NULL, at the flush only
    }
  }

  /** As docs/spring.md says of it. */
  @Test
  void entityManagersAndSessionsOfTheListenersOwnMakingAreApart(TestDatabase database)
      throws Exception {
    try (var service = Service.start(database, MakesItsOwn.class)) {
      service.publish(1, 1);
      service.awaitQuiet();
      for (var maker : List.of("createEntityManager", "openSession", "openStatelessSession")) {
        assertThat(service.effects(maker)).as("%s: one for each attempt", maker).isEqualTo(2);
      }
      assertThat(service.effects("joined")).isEqualTo(1);
    }
  }

  static class MakesItsOwn {

    @Autowired Effects effects;
    @Autowired EntityManagerFactory factory;

    @PgOnceListener(channel = "job")
    void handle(Job job, Notification<Job> notification) {
      effects.save(new Effect(job.number(), "joined"));
      try (var entities = factory.createEntityManager()) {
        entities.getTransaction().begin();
        entities.persist(new Effect(job.number(), "createEntityManager"));
        entities.getTransaction().commit();
      }
      var sessions = factory.unwrap(SessionFactory.class);
      try (var session = sessions.openSession()) {
        session.beginTransaction();
        session.persist(new Effect(job.number(), "openSession"));
        session.getTransaction().commit();
      }
      try (var session = sessions.openStatelessSession()) {
        session.beginTransaction();
        session.insert(new Effect(job.number(), "openStatelessSession"));
        session.getTransaction().commit();
      }
      if (notification.attempt() == 1) {
        throw new IllegalStateException("at first");
      }
    }
  }

  @Test
  void aBatchIsOneTransactionToo(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Batches.class)) {
      service.publish(1, 100);
      service.awaitQuiet();
      assertThat(service.effects("batch")).isEqualTo(100);
    }
  }

  static class Batches {

    @Autowired Effects effects;

    @PgOnceListener(channel = "job", batch = "25")
    void handle(List<Notification<Job>> jobs) {
      for (var job : jobs) {
        effects.save(new Effect(job.payload().number(), "batch"));
      }
      if (jobs.size() == 1 && jobs.get(0).attempt() == 1 && jobs.get(0).payload().number() == 50) {
        throw new IllegalStateException("alone, at first");
      }
      if (jobs.size() > 1 && jobs.stream().anyMatch(job -> job.payload().number() == 50)) {
        throw new IllegalStateException("undoes the batch");
      }
    }
  }

  /** Its session is there until the commit, so that Hibernate learns how it ended. */
  @Test
  void batchOfAPlainListenerKeepsNoEntities(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Plain.class)) {
      service.publish(1, 20);
      service.awaitQuiet();
      assertThat(service.effects("plain")).isEqualTo(20);
      assertThat(service.bean(Plain.class).largest).hasValueGreaterThan(1);
      assertThat(service.bean(Plain.class).kept).as("of those before in its batch").hasValue(0);
    }
  }

  static class Plain {

    final AtomicInteger largest = new AtomicInteger();
    final AtomicInteger kept = new AtomicInteger();
    private final List<WeakReference<Effect>> before = new ArrayList<>();
    private long transaction;
    @Autowired Effects effects;

    @PgOnceListener(channel = "job", batch = "10", concurrency = "1")
    void handle(Job job, Tx tx) throws Exception {
      var current =
          tx.query("SELECT pg_current_xact_id()::text::bigint", row -> row.getLong(1)).get(0);
      if (current != transaction) {
        transaction = current;
        before.clear();
      }
      if (before.size() == 5 && !areGone()) {
        kept.incrementAndGet();
      }
      before.add(new WeakReference<>(effects.save(new Effect(job.number(), "plain"))));
      largest.accumulateAndGet(before.size(), Math::max);
    }

    private boolean areGone() {
      for (var tries = 0; tries < 20; tries++) {
        System.gc();
        if (before.stream().allMatch(one -> one.refersTo(null))) {
          return true;
        }
      }
      return false;
    }
  }

  @Test
  void sessionThatCannotBeMadeLeavesNothingOnTheThread(TestDatabase database) throws Exception {
    try (var service = Service.start(database, Saves.class)) {
      service.publish(1, 3);
      service.awaitQuiet();
      assertThat(service.effects("saved")).isEqualTo(3);
      assertThat(service.deadLetters()).isZero();
      assertThat(service.bean(FailsOnce.class).failures).hasValue(0);
    }
  }

  static class Saves {

    @Autowired Effects effects;

    @Bean
    static FailsOnce failsOnce() {
      return new FailsOnce();
    }

    @PgOnceListener(channel = "job", concurrency = "1")
    void handle(Job job) {
      effects.save(new Effect(job.number(), "saved"));
    }
  }

  /** An Error where a listener's session is made. */
  static class FailsOnce implements BeanPostProcessor {

    final AtomicInteger failures = new AtomicInteger(2);

    @Override
    public Object postProcessBeforeInitialization(Object bean, String name) {
      if (bean instanceof LocalContainerEntityManagerFactoryBean factory) {
        factory.setEntityManagerInitializer(
            entities -> {
              if (Thread.currentThread().getName().contains("pgonce")
                  && failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                throw new NoClassDefFoundError("of a filter");
              }
            });
      }
      return bean;
    }
  }
}
