package dev.recollect;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.ToNumberPolicy;
import com.google.gson.reflect.TypeToken;
import java.util.Map;

/** JSON as Java's own types. */
final class Json {
    private static final Gson GSON = new GsonBuilder()
            .setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE)
            .create();

    private Json() {}

    /** An object as maps, lists, strings, Long, Double, Boolean and null. */
    static Map<String, Object> object(String text) {
        return GSON.fromJson(text, new TypeToken<Map<String, Object>>() {}.getType());
    }
}
