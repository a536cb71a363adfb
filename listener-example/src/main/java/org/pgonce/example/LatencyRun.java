package org.pgonce.example;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;

@Command(name = "latency")
final class LatencyRun implements Callable<Integer> {
  @Override
  public Integer call() {
    return 0;
  }
}
