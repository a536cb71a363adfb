package org.pgonce.example;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;

@Command(name = "mistake")
final class MistakeRun implements Callable<Integer> {
  @Override
  public Integer call() {
    return 0;
  }
}
