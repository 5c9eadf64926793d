// Runs the verifier over the test vectors: javac -d out *.java && java -cp out VectorsTest
// With JUnit, make each vector a dynamic test.

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

final class VectorsTest {
  public static void main(String[] args) throws Exception {
    String file = System.getenv().getOrDefault("VECTORS", "../../../test/vectors/vectors.json");
    List<?> vectors = (List<?>) VerifyLicense.parse(Files.readString(Path.of(file)));
    int failures = 0;
    for (Object each : vectors) {
      Map<?, ?> vector = (Map<?, ?>) each;
      if (vector.get("name").equals("good-expires")) {
        Map<Object, Object> later = new HashMap<>(vector);
        later.put("now", "+10000-01-01T00:00:00Z");
        if (!verdict(later).equals("expired")) {
          System.err.println("an expiry, with a clock that shows a year after 9999: " + verdict(later));
          failures++;
        }
      }
      String verdict = verdict(vector);
      if (verdict.equals(vector.get("expected"))) continue;
      System.err.printf("%s: %s instead of %s%n", vector.get("name"), verdict, vector.get("expected"));
      failures++;
    }
    System.out.println(vectors.size() + " vectors");
    System.exit(failures == 0 ? 0 : 1);
  }

  private static String verdict(Map<?, ?> vector) throws Exception {
    byte[] file = vector.containsKey("license")
        ? text(vector, "license").getBytes(StandardCharsets.UTF_8)
        : Base64.getDecoder().decode(text(vector, "licenseBase64"));
    Instant lastSeen = vector.containsKey("lastSeen") ? Instant.parse(text(vector, "lastSeen")) : null;
    try {
      VerifyLicense.verify(
          file,
          VerifyLicense.parsePublicKey(text(vector, "publicKeyPem")),
          text(vector, "app"),
          text(vector, "fingerprint"),
          Instant.parse(text(vector, "now")),
          lastSeen);
      return "ok";
    } catch (VerifyLicense.LicenseRefused refused) {
      return refused.getMessage();
    }
  }

  private static String text(Map<?, ?> vector, String member) {
    return (String) vector.get(member);
  }
}
