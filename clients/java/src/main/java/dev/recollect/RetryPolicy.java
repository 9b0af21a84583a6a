package dev.recollect;

import java.time.Duration;

/**
 * How calls are repeated that failed for a passing reason: UNAVAILABLE, where a repetition cannot
 * change anything twice, and RESOURCE_EXHAUSTED where the server names the delay. The server's
 * delay is always respected.
 *
 * @param maxAttempts the number of attempts, the first one included; 1 never retries
 * @param initialBackoff the longest wait before the second attempt; it doubles with each attempt
 * @param maxBackoff the longest wait between two attempts
 */
public record RetryPolicy(int maxAttempts, Duration initialBackoff, Duration maxBackoff) {
    /** Seven attempts, 100 milliseconds, 5 seconds. */
    public static final RetryPolicy DEFAULT = new RetryPolicy(7, Duration.ofMillis(100), Duration.ofSeconds(5));

    /** One attempt. */
    public static final RetryPolicy NEVER = new RetryPolicy(1, Duration.ofMillis(100), Duration.ofSeconds(5));
}
