package org.pgonce.testkit;

import org.postgresql.ds.PGSimpleDataSource;

/**
 * A role that can log in, made for one test.
 *
 * @param name the name in the server, unique
 * @param password its password, which embedded servers do check
 * @param dataSource unpooled connections of this role to the test's database
 */
public record LoginRole(String name, String password, PGSimpleDataSource dataSource) {

  /** Leaves the password out. */
  @Override
  public String toString() {
    return name;
  }
}
