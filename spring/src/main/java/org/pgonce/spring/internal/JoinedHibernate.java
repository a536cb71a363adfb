package org.pgonce.spring.internal;

import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.util.List;
import java.util.function.Consumer;
import org.hibernate.FlushMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.engine.jdbc.connections.spi.MultiTenantConnectionProvider;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.resource.jdbc.spi.JdbcSessionOwner;
import org.pgonce.Tx;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Gives the handler's repositories and entity managers a Hibernate session on its connection. */
final class JoinedHibernate implements JoinedResource {

  private static final Logger LOG = LoggerFactory.getLogger(JoinedHibernate.class);

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
    warnOfTenants();
  }

  /** Hibernate asks its provider for connections of its own, and takes ours as it is. */
  private void warnOfTenants() {
    var provider =
        sessions
            .unwrap(SessionFactoryImplementor.class)
            .getServiceRegistry()
            .getService(MultiTenantConnectionProvider.class);
    if (provider != null) {
      LOG.warn(
          "pgonce: {} chooses the tenant of a connection, and is not asked for that of a listener: without more, what a listener does through JPA is in the schema that the connection has anyway. Set the tenant in a HandlerInterceptor of an order below 0: for CurrentTenantIdentifierResolver, and by SET LOCAL search_path on call.tx(). See docs/spring.md, Tenants",
          provider.getClass().getName());
    }
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
