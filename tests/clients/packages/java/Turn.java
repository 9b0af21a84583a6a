// One chat turn with the package in clients/java.

// region chat turn
import dev.recollect.Format;
import dev.recollect.Recollect;

public final class Turn {
    public static void main(String[] arguments) {
        try (var recollect = Recollect.create()) {
            var memory = recollect.session("support", "ada", "java-package");
            var context = memory.context("What is my dog called?", Format.OPENAI);
            var answer = Model.ask(context.messages());
            memory.append("What is my dog called?", answer);
        }
    }
}
// endregion

/** Stands in for a model. */
final class Model {
    /** Prints what the model would be sent, and answers. */
    static String ask(Object messages) {
        System.out.println(messages);
        return "Your dog is called Pixel.";
    }
}
