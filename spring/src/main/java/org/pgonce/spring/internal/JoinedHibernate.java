package org.pgonce.spring.internal;

import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.util.List;
import java.util.function.Consumer;
import org.hibernate.FlushMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.resource.jdbc.spi.JdbcSessionOwner;
import org.pgonce.Tx;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Gives the handler's repositories and entity managers a Hibernate session on its connection. */
final class JoinedHibernate implements JoinedResource {

  private final EntityManagerFactory factory;
  private final SessionFactory sessions;
  private final List<Consumer<EntityManager>> initializers;

  /**
   * @param factory the bean, which is what Spring looks the session up by
   * @param sessions what is behind it
   * @param initializers what is done to each session
   */
  JoinedHibernate(
      EntityManagerFactory factory,
      SessionFactory sessions,
      List<Consumer<EntityManager>> initializers) {
    this.factory = factory;
    this.sessions = sessions;
    this.initializers = initializers;
  }

  @Override
  public Bound bind(Tx tx) {
    var connection = new HandlerConnection(tx);
    var session = sessions.withOptions().connection(connection.proxy()).openSession();
    try {
      initializers.forEach(initializer -> initializer.accept(session));
      session.beginTransaction();
      TransactionSynchronizationManager.bindResource(factory, new EntitiesHolder(session));
    } catch (Throwable e) {
      session.close();
      throw e;
    }
    return new BoundSession(session, connection);
  }

  private final class BoundSession implements Bound {

    private final Session session;

    private final HandlerConnection connection;

    BoundSession(Session session, HandlerConnection connection) {
      this.session = session;
      this.connection = connection;
    }

    @Override
    public boolean isUsed() {
      return connection.isUsed();
    }

    @Override
    public boolean isRollbackOnly() {
      return session.getTransaction().getRollbackOnly();
    }

    /**
     * All that Hibernate does before a commit, version checks included. The entities are let go: in
     * a batch the session outlives its notification.
     */
    @Override
    public void flush() {
      var owner = (JdbcSessionOwner) session;
      owner.flushBeforeTransactionCompletion();
      owner.beforeTransactionCompletion();
      session.clear();
    }

    @Override
    public void unbind() {
      TransactionSynchronizationManager.unbindResourceIfPossible(factory);
    }

    /** Hibernate learns only now how it ended: its second-level cache must not know before. */
    @Override
    public void completed(Tx.Outcome outcome) {
      try {
        session.setHibernateFlushMode(FlushMode.MANUAL);
        if (outcome == Tx.Outcome.COMMITTED) {
          session.getTransaction().commit();
        } else {
          session.getTransaction().rollback();
        }
      } finally {
        session.close();
      }
    }
  }
}
