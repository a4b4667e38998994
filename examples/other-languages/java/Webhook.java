import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

class Webhook {
  static boolean isGenuine(byte[] body, UnaryOperator<String> header, String secret) {
    String sent = header.apply("webhook-timestamp"), signatures = header.apply("webhook-signature");
    if (sent == null || signatures == null || !sent.matches("[0-9]{1,12}")) return false;
    if (Math.abs(Instant.now().getEpochSecond() - Long.parseLong(sent)) > 300) return false;
    var key = Base64.getDecoder().decode(secret.substring("whsec_".length()));
    try {
      var mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      mac.update((header.apply("webhook-id") + "." + sent + ".").getBytes(StandardCharsets.UTF_8));
      var wanted = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes();
      return Stream.of(signatures.split(" ")).anyMatch(each -> MessageDigest.isEqual(wanted, each.getBytes()));
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error); // every Java has HmacSHA256
    }
  }
}
