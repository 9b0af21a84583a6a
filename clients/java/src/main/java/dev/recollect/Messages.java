package dev.recollect;

import dev.recollect.v1.Message;
import dev.recollect.v1.MessageInput;
import dev.recollect.v1.Part;
import dev.recollect.v1.Role;
import java.util.stream.Collectors;

/** Messages to store, and the text of stored ones. */
public final class Messages {
    private Messages() {}

    /** A message of the session's user. An empty text is refused. */
    public static MessageInput user(String text) {
        return of(Role.ROLE_USER, text);
    }

    /**
     * A message of a user, where several take part. Facts in it belong to this user.
     *
     * @param saidBy the user who said it: 1 to 256 characters, and not {@link Recollect#NO_USER}
     */
    public static MessageInput user(String text, String saidBy) {
        if (saidBy == null || saidBy.isEmpty() || saidBy.equals(Recollect.NO_USER)) {
            throw RecollectException.invalid(
                    "saidBy", "is no user: pass the user's id, or leave it out for the session's user");
        }
        return user(text).toBuilder().setUserId(saidBy).build();
    }

    /** An answer of the model. */
    public static MessageInput assistant(String text) {
        return of(Role.ROLE_ASSISTANT, text);
    }

    /** An instruction to the model. */
    public static MessageInput system(String text) {
        return of(Role.ROLE_SYSTEM, text);
    }

    /** The text of a stored or recalled message: its text parts, in order. */
    public static String text(Message message) {
        return message.getPartsList().stream()
                .filter(Part::hasText)
                .map(Part::getText)
                .collect(Collectors.joining("\n"));
    }

    private static MessageInput of(Role role, String text) {
        if (text == null || text.isEmpty()) {
            throw RecollectException.invalid("messages", "the text of a message is empty or missing");
        }
        var message = MessageInput.newBuilder().setRole(role);
        return message.addParts(Part.newBuilder().setText(text)).build();
    }
}
