package org.pgonce.console;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;
import org.openqa.selenium.Dimension;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;

/** Debian's browser, without a screen. Tests are skipped where it is not installed. */
final class Chromium {

  private static final Path BROWSER = Path.of("/usr/bin/chromium");
  private static final Path DRIVER = Path.of("/usr/bin/chromedriver");
  private static final Dimension SCREEN = new Dimension(1280, 900);

  private Chromium() {}

  /** The caller quits it. */
  static ChromeDriver start(boolean scripts) {
    Assumptions.assumeTrue(
        Files.isExecutable(BROWSER) && Files.isExecutable(DRIVER),
        "skipped: no chromium and chromedriver here (apt-get install chromium chromium-driver)");
    var options = new ChromeOptions();
    options.setBinary(BROWSER.toFile());
    // A root has no sandbox, and a container little shared memory.
    options.addArguments(
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--hide-scrollbars");
    if (!scripts) {
      options.setExperimentalOption(
          "prefs", Map.of("profile.managed_default_content_settings.javascript", 2));
    }
    var service =
        new ChromeDriverService.Builder()
            .usingDriverExecutable(DRIVER.toFile())
            .usingAnyFreePort()
            .build();
    var driver = new ChromeDriver(service, options);
    driver.manage().timeouts().pageLoadTimeout(Duration.ofSeconds(60));
    driver.manage().window().setSize(SCREEN);
    return driver;
  }

  /** {@code light} or {@code dark}, as the person's system has it. */
  static void prefer(ChromeDriver driver, String scheme) {
    driver.executeCdpCommand(
        "Emulation.setEmulatedMedia",
        Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
  }
}
