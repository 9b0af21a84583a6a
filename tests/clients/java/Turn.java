// One chat turn with the Java client that `make generate` writes.

// region chat turn
import dev.recollect.v1.AppendMessagesRequest;
import dev.recollect.v1.BuildContextRequest;
import dev.recollect.v1.ContextServiceGrpc;
import dev.recollect.v1.MessageInput;
import dev.recollect.v1.MessageServiceGrpc;
import dev.recollect.v1.Part;
import dev.recollect.v1.ProviderFormat;
import dev.recollect.v1.Role;
import dev.recollect.v1.SessionRef;
import dev.recollect.v1.ThreadRef;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;

public final class Turn {
    public static void main(String[] arguments) {
        var headers = new Metadata();
        headers.put(
                Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
                "Bearer " + System.getenv("RECOLLECT_API_KEY"));
        var channel = Grpc.newChannelBuilder(
                        System.getenv("RECOLLECT_ADDR"), InsecureChannelCredentials.create())
                .intercept(MetadataUtils.newAttachHeadersInterceptor(headers))
                .build();
        var session = SessionRef.newBuilder()
                .setAppId("support")
                .setUserId("ada")
                .setSessionKey("java");
        var thread = ThreadRef.newBuilder().setSession(session);
        var question = Part.newBuilder().setText("What is my dog called?");

        var context = ContextServiceGrpc.newBlockingStub(channel)
                .buildContext(BuildContextRequest.newBuilder()
                        .setThread(thread)
                        .addInput(question)
                        .addFormats(ProviderFormat.PROVIDER_FORMAT_TEXT)
                        .build());
        var answer = Model.ask(context.getRendered(0).getBody());
        MessageServiceGrpc.newBlockingStub(channel)
                .appendMessages(AppendMessagesRequest.newBuilder()
                        .setThread(thread)
                        .addMessages(MessageInput.newBuilder()
                                .setRole(Role.ROLE_USER)
                                .addParts(question))
                        .addMessages(MessageInput.newBuilder()
                                .setRole(Role.ROLE_ASSISTANT)
                                .addParts(Part.newBuilder().setText(answer)))
                        .build());
        channel.shutdownNow();
    }
}
// endregion

/** Stands in for a model. */
final class Model {
    /** Prints what the model would be sent, and answers. */
    static String ask(String messages) {
        System.out.println(messages);
        return "Your dog is called Pixel.";
    }
}
