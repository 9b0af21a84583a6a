package dev.recollect;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Webhooks of {@link Subscriptions}, by the specification Standard Webhooks. */
public final class Webhooks {
    private static final String ALGORITHM = "HmacSHA256";

    private Webhooks() {}

    /** As {@link #verify(Function, byte[], String, Duration)}, with a tolerance of five minutes. */
    public static Map<String, Object> verify(Function<String, String> header, byte[] body, String secret) {
        return verify(header, body, secret, Duration.ofMinutes(5));
    }

    /**
     * Checks that a request is a webhook of this server, and returns its JSON: {@code subscription},
     * {@code events} and {@code dropped_count}, as maps, lists, strings and Long.
     *
     * @param header the value of the request's header with a name, in whatever case the request has
     *     it; null: it has none. Such as {@code request::getHeader} of a servlet
     * @param body the request's body as it was received
     * @param secret the secret of the subscription: {@code whsec_…}
     * @param tolerance how much the request's time may differ from this machine's
     * @throws IllegalArgumentException it is not signed with the secret, or too old: answer 401
     */
    public static Map<String, Object> verify(
            Function<String, String> header, byte[] body, String secret, Duration tolerance) {
        var timestamp = value(header, "webhook-timestamp");
        if (!timestamp.matches("[0-9]{1,18}")) {
            throw new IllegalArgumentException("the request has no webhook-timestamp");
        }
        var age = System.currentTimeMillis() / 1000.0 - Long.parseLong(timestamp);
        if (Math.abs(age) > tolerance.toMillis() / 1000.0) {
            throw new IllegalArgumentException("the webhook is too old, or a clock is wrong");
        }
        var signed = value(header, "webhook-id") + "." + timestamp + ".";
        var expected = signature(signed.getBytes(StandardCharsets.UTF_8), body, secret);
        for (var signature : value(header, "webhook-signature").split("\\s+")) {
            // A comparison that takes the same time wherever the texts differ.
            if (MessageDigest.isEqual(signature.getBytes(StandardCharsets.UTF_8), expected)) {
                return Json.object(new String(body, StandardCharsets.UTF_8));
            }
        }
        throw new IllegalArgumentException("the webhook is not signed with this secret");
    }

    private static String value(Function<String, String> header, String name) {
        return Optional.ofNullable(header.apply(name)).orElse("");
    }

    private static byte[] signature(byte[] before, byte[] body, String secret) {
        try {
            var mac = Mac.getInstance(ALGORITHM);
            mac.init(key(secret));
            mac.update(before);
            var code = Base64.getEncoder().encodeToString(mac.doFinal(body));
            return ("v1," + code).getBytes(StandardCharsets.UTF_8);
        } catch (GeneralSecurityException impossible) {
            throw new IllegalStateException("this Java has no " + ALGORITHM, impossible);
        }
    }

    private static SecretKeySpec key(String secret) {
        try {
            return new SecretKeySpec(Base64.getDecoder().decode(secret.replaceFirst("^whsec_", "")), ALGORITHM);
        } catch (IllegalArgumentException malformed) {
            throw new IllegalArgumentException("the secret is not whsec_ and base64", malformed);
        }
    }
}
