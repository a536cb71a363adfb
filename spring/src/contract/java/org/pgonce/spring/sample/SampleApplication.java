package org.pgonce.spring.sample;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class SampleApplication {

  public static void main(String[] arguments) {
    SpringApplication.run(SampleApplication.class, arguments);
  }
}
