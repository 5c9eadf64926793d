// Verifies signed licenses offline, with nothing but a JDK, 17 or later: java VerifyLicense.java

import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.Signature;
import java.security.SignatureException;
import java.security.interfaces.ECPublicKey;
import java.security.spec.X509EncodedKeySpec;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

public final class VerifyLicense {
  private static final String USAGE = """
      usage: java VerifyLicense.java LICENSE.json PUBLIC_KEY.pem APP FINGERPRINT [--last-seen TIME]

      LICENSE.json holds a license, or the whole answer of an activation. Prints "ok", or why the license is refused;
      the exit status is 0 or 1, and 2 if something else is wrong. Key, app and fingerprint are the verifier's own:
      nothing in the license is trusted to say them. TIME is the last time that was seen, such as
      2026-01-02T03:04:05.678Z.""";

  /** The message is one of the codes in docs/verifying.md. */
  public static final class LicenseRefused extends Exception {
    LicenseRefused(String reason) {
      super(reason);
    }
  }

  /**
   * The license, if it is good: its members are String, Long, List or Map. Use nothing of the file but what this gives back.
   *
   * @param lastSeen the latest time that the application has ever seen, or null at first: keep it, and give it the
   *     next time
   */
  public static Map<String, Object> verify(
      byte[] file, ECPublicKey key, String app, String fingerprint, Instant now, Instant lastSeen)
      throws LicenseRefused, GeneralSecurityException {
    Map<String, Object> license = readLicense(file);
    Object signature = license.remove("signature");
    String signed = canonical(license);

    // The algorithm is the verifier's choice, and so is the key: the license may only agree.
    require("ES256".equals(license.get("alg")), "wrong_algorithm");
    require(thumbprint(key).equals(license.get("kid")), "unknown_key");
    require(isSignature(signature, signed, key), "bad_signature");

    require(app.equals(license.get("app")), "wrong_app");
    require(fingerprint.equals(license.get("machineFingerprint")), "wrong_machine");
    boolean hasEnd = license.containsKey("expiresAt") || license.containsKey("leaseExpiresAt");
    require(!hasEnd || lastSeen == null || !now.isBefore(lastSeen), "clock_set_back");
    boolean isInGrace = license.containsKey("graceEndsAt") && !hasPassed(license, "graceEndsAt", now);
    require(!hasPassed(license, "expiresAt", now) || isInGrace, "expired");
    require(!hasPassed(license, "leaseExpiresAt", now), "lease_over");
    return license;
  }

  private static void require(boolean condition, String reason) throws LicenseRefused {
    if (!condition) throw new LicenseRefused(reason);
  }

  @SuppressWarnings("unchecked") // the parser makes no other maps
  private static Map<String, Object> readLicense(byte[] file) throws LicenseRefused {
    try {
      Object content = parse(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(file)).toString());
      if (content instanceof Map<?, ?> answer && answer.containsKey("license")) content = answer.get("license");
      require(content instanceof Map, "malformed");
      return (Map<String, Object>) content;
    } catch (CharacterCodingException notUtf8) {
      throw new LicenseRefused("malformed");
    }
  }

  /** The RFC 8785 form of what a license is made of: objects with simple names, lists, strings and integers. */
  private static String canonical(Object value) throws LicenseRefused {
    if (value instanceof String text) return quote(text);
    if (value instanceof Long number) return number.toString();
    if (value instanceof List<?> list) {
      List<String> items = new ArrayList<>();
      for (Object item : list) items.add(canonical(item));
      return "[" + String.join(",", items) + "]";
    }
    require(value instanceof Map, "malformed");
    List<String> members = new ArrayList<>();
    for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) { // in the order of the names
      require(member.getKey().toString().matches("[A-Za-z][A-Za-z0-9._-]*"), "malformed");
      members.add(quote(member.getKey().toString()) + ":" + canonical(member.getValue()));
    }
    return "{" + String.join(",", members) + "}";
  }

  private static String quote(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char unit : text.toCharArray()) {
      int escape = ESCAPED.indexOf(unit);
      if (escape >= 0) quoted.append('\\').append(ESCAPES.charAt(escape));
      else if (unit < ' ') quoted.append(String.format("\\u%04x", (int) unit));
      else quoted.append(unit);
    }
    return quoted.append('"').toString();
  }

  private static final String ESCAPES = "\"\\bfnrt/"; // what stands behind a backslash,
  private static final String ESCAPED = "\"\\\b\f\n\r\t"; // and for what; "\/" is read, but not written

  private static final BigInteger ORDER =
      new BigInteger("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", 16);

  /** Whether it is one, in the only spelling of its 64 bytes r||s in base64url. */
  private static boolean isSignature(Object signature, String message, ECPublicKey key)
      throws GeneralSecurityException {
    if (!(signature instanceof String text) || !text.matches("[A-Za-z0-9_-]{85}[AQgw]")) return false;
    byte[] numbers = Base64.getUrlDecoder().decode(text);
    for (int half = 0; half < 64; half += 32) {
      // Java 15 to 18 took zeros for a good signature of anything (CVE-2022-21449), and not every runtime is mended.
      BigInteger number = new BigInteger(1, numbers, half, 32);
      if (number.signum() == 0 || number.compareTo(ORDER) >= 0) return false;
    }
    Signature verifier = Signature.getInstance("SHA256withECDSAinP1363Format");
    verifier.initVerify(key);
    verifier.update(message.getBytes(StandardCharsets.UTF_8));
    try {
      return verifier.verify(numbers);
    } catch (SignatureException notEvenOne) {
      return false;
    }
  }

  /** Compares times, not texts: the text of a year after 9999 sorts before that of an earlier year. */
  private static boolean hasPassed(Map<String, Object> license, String member, Instant now) throws LicenseRefused {
    if (!license.containsKey(member)) return false;
    String form = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z";
    require(license.get(member) instanceof String text && text.matches(form), "malformed");
    try {
      return !Instant.parse(license.get(member).toString()).isAfter(now);
    } catch (DateTimeParseException noSuchDay) {
      throw new LicenseRefused("malformed");
    }
  }

  /** Reads SubjectPublicKeyInfo in PEM. */
  public static ECPublicKey parsePublicKey(String pem) throws GeneralSecurityException {
    byte[] spki = Base64.getDecoder().decode(pem.replaceAll("-----[^-]+-----|\\s", ""));
    ECPublicKey key = (ECPublicKey) KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(spki));
    if (!key.getParams().getOrder().equals(ORDER)) throw new GeneralSecurityException("not a P-256 public key");
    return key;
  }

  /** The id of a key (RFC 7638). */
  private static String thumbprint(ECPublicKey key) throws GeneralSecurityException {
    Base64.Encoder base64 = Base64.getUrlEncoder().withoutPadding();
    byte[] spki = key.getEncoded(); // ends with the coordinates
    String x = base64.encodeToString(Arrays.copyOfRange(spki, spki.length - 64, spki.length - 32));
    String y = base64.encodeToString(Arrays.copyOfRange(spki, spki.length - 32, spki.length));
    String jwk = "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"" + x + "\",\"y\":\"" + y + "\"}";
    return base64.encodeToString(MessageDigest.getInstance("SHA-256").digest(jwk.getBytes(StandardCharsets.US_ASCII)));
  }

  /**
   * JSON (RFC 8259), as far as every reader would understand it alike: a Map (sorted), List, String, Long, Boolean or
   * null. Members that are there twice are refused, and so are all numbers but integers in their shortest spelling.
   */
  static Object parse(String text) throws LicenseRefused {
    Parser parser = new Parser(text);
    Object value = parser.value(0);
    parser.skipSpaces();
    require(parser.at == text.length(), "malformed");
    return value;
  }

  private static final class Parser {
    private static final long LARGEST = (1L << 53) - 1;
    private final String text;
    private int at = 0;

    Parser(String text) {
      this.text = text;
    }

    Object value(int depth) throws LicenseRefused {
      require(depth < 64, "malformed");
      skipSpaces();
      if (take("{")) return object(depth);
      if (take("[")) return list(depth);
      if (take("\"")) return string();
      if (take("true")) return true;
      if (take("false")) return false;
      if (take("null")) return null;
      return integer();
    }

    private Map<String, Object> object(int depth) throws LicenseRefused {
      Map<String, Object> members = new TreeMap<>();
      skipSpaces();
      if (take("}")) return members;
      do {
        skipSpaces();
        expect("\"");
        String name = string();
        skipSpaces();
        expect(":");
        require(!members.containsKey(name), "malformed");
        members.put(name, value(depth + 1));
        skipSpaces();
      } while (take(","));
      expect("}");
      return members;
    }

    private List<Object> list(int depth) throws LicenseRefused {
      List<Object> values = new ArrayList<>();
      skipSpaces();
      if (take("]")) return values;
      do {
        values.add(value(depth + 1));
        skipSpaces();
      } while (take(","));
      expect("]");
      return values;
    }

    private String string() throws LicenseRefused {
      StringBuilder units = new StringBuilder();
      for (char unit = next(); unit != '"'; unit = next()) {
        require(unit >= ' ', "malformed");
        units.append(unit == '\\' ? escaped() : unit);
      }
      require(StandardCharsets.UTF_8.newEncoder().canEncode(units), "malformed"); // no half characters
      return units.toString();
    }

    private char escaped() throws LicenseRefused {
      char unit = next();
      if (unit == 'u') {
        int code = 0;
        for (int digit = 0; digit < 4; digit++) {
          char hex = next();
          require(HexFormat.isHexDigit(hex), "malformed");
          code = code * 16 + HexFormat.fromHexDigit(hex);
        }
        return (char) code;
      }
      int escape = ESCAPES.indexOf(unit);
      require(escape >= 0, "malformed");
      return unit == '/' ? '/' : ESCAPED.charAt(escape);
    }

    private Long integer() throws LicenseRefused {
      int start = at;
      take("-");
      while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') at++;
      String digits = text.substring(start, at);
      require(digits.matches("0|-?[1-9][0-9]{0,15}"), "malformed"); // a fraction or an exponent is in nobody's place
      long number = Long.parseLong(digits);
      require(Math.abs(number) <= LARGEST, "malformed");
      return number;
    }

    void skipSpaces() {
      while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
    }

    private boolean take(String token) {
      boolean isThere = text.startsWith(token, at);
      if (isThere) at += token.length();
      return isThere;
    }

    private void expect(String token) throws LicenseRefused {
      require(take(token), "malformed");
    }

    private char next() throws LicenseRefused {
      require(at < text.length(), "malformed");
      return text.charAt(at++);
    }
  }

  public static void main(String[] args) {
    if (args.length != 4 && !(args.length == 6 && args[4].equals("--last-seen"))) {
      System.err.println(USAGE);
      System.exit(2);
    }
    try {
      Instant lastSeen = args.length == 6 ? Instant.parse(args[5]) : null;
      ECPublicKey key = parsePublicKey(Files.readString(Path.of(args[1])));
      verify(Files.readAllBytes(Path.of(args[0])), key, args[2], args[3], Instant.now(), lastSeen);
      System.out.println("ok");
    } catch (LicenseRefused refused) {
      System.out.println(refused.getMessage());
      System.exit(1);
    } catch (IOException | GeneralSecurityException | IllegalArgumentException | DateTimeParseException error) {
      System.err.println(error);
      System.exit(2);
    }
  }
}
