package org.pgonce.cli;

import picocli.CommandLine.IVersionProvider;

/** As the jar's manifest has it. */
final class VersionOfJar implements IVersionProvider {

  @Override
  public String[] getVersion() {
    var version = PgOnceCommand.class.getPackage().getImplementationVersion();
    return new String[] {"pgonce " + (version == null ? "(not packed)" : version)};
  }
}
