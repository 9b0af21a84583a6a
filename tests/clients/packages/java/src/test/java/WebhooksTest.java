import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.recollect.Webhooks;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

/** Verifying webhooks. */
class WebhooksTest {
    private static final String KEY = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    private static final String SECRET = "whsec_" + KEY;
    /** The vector of the reference implementations of Standard Webhooks. */
    private static final Map<String, String> HEADERS = Map.of(
            "Webhook-Id", "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "Webhook-Timestamp", "1614265330",
            "Webhook-Signature", "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    private static final String BODY = "{\"test\": 2432232314}";
    /** The time of the vector is long ago. */
    private static final Duration ALWAYS = Duration.ofDays(36_500);

    private static Map<String, Object> verify(
            Map<String, String> change, String body, String secret, Duration tolerance) {
        var headers = new TreeMap<String, String>(String.CASE_INSENSITIVE_ORDER);
        headers.putAll(HEADERS);
        headers.putAll(change);
        return Webhooks.verify(headers::get, body.getBytes(StandardCharsets.UTF_8), secret, tolerance);
    }

    private static void isRefused(Map<String, String> change, String body, String secret) {
        var refused = assertThrows(
                IllegalArgumentException.class, () -> verify(change, body, secret, ALWAYS), change::toString);
        assertTrue(refused.getMessage().matches(".*(webhook|secret).*"), refused.getMessage());
    }

    /** A webhook of this age, with the default tolerance. */
    private static Map<String, Object> ofAge(Duration age) throws Exception {
        var timestamp = Instant.now().minus(age).getEpochSecond();
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(Base64.getDecoder().decode(KEY), "HmacSHA256"));
        var code = mac.doFinal(("1." + timestamp + "." + BODY).getBytes(StandardCharsets.UTF_8));
        var headers = Map.of(
                "webhook-id", "1",
                "webhook-timestamp", Long.toString(timestamp),
                "webhook-signature", "v1," + Base64.getEncoder().encodeToString(code));
        return Webhooks.verify(headers::get, BODY.getBytes(StandardCharsets.UTF_8), SECRET);
    }

    @Test
    void aSignedWebhookIsRead() {
        assertEquals(Map.of("test", 2432232314L), verify(Map.of(), BODY, SECRET, ALWAYS));
    }

    @Test
    void anotherRequestIsRefused() {
        isRefused(Map.of(), BODY + " ", SECRET);
        for (var secret : List.of("whsec_AAAA", "whsec_~", "whsec_")) {
            isRefused(Map.of(), BODY, secret);
        }
        isRefused(Map.of("Webhook-Id", "another"), BODY, SECRET);
        for (var timestamp : List.of("1614265331", "soon", "", "-1", "9999999999999999999999")) {
            isRefused(Map.of("Webhook-Timestamp", timestamp), BODY, SECRET);
        }
        for (var signature : List.of("v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "v1,", "")) {
            isRefused(Map.of("Webhook-Signature", signature), BODY, SECRET);
        }
        var bare = assertThrows(
                IllegalArgumentException.class, () -> Webhooks.verify(name -> null, new byte[0], SECRET));
        assertEquals("the request has no webhook-timestamp", bare.getMessage());
    }

    @Test
    void theTimeOfAWebhookMayDifferByFiveMinutes() throws Exception {
        for (var minutes : List.of(-4, 0, 4)) {
            assertEquals(Map.of("test", 2432232314L), ofAge(Duration.ofMinutes(minutes)));
        }
        for (var minutes : List.of(-6, 6)) {
            assertThrows(IllegalArgumentException.class, () -> ofAge(Duration.ofMinutes(minutes)));
        }
    }
}
