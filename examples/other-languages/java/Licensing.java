import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.*;
import java.time.Duration;

class Licensing {
  static final ObjectMapper JSON = new ObjectMapper();
  static final HttpClient HTTP = HttpClient.newHttpClient();
  static String url = System.getenv("LICENSING_URL"), apiKey = System.getenv("LICENSING_API_KEY");

  record Answer(JsonNode body, HttpHeaders headers) {}

  static class Problem extends Exception {
    final JsonNode fields;
    Problem(JsonNode fields) { super(fields.get("title").asText()); this.fields = fields; }
  }

  static Answer call(String method, String path, Object body) throws Exception {
    var content = body == null ? "" : JSON.writeValueAsString(body);
    var request = HttpRequest.newBuilder(URI.create(url.replaceAll("/*$", "/")).resolve(path))
        .method(method, HttpRequest.BodyPublishers.ofString(content)).timeout(Duration.ofSeconds(60))
        .header("X-Api-Key", apiKey).header("Content-Type", "application/json").build();
    var answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    var type = answer.headers().firstValue("Content-Type").orElse("");
    if (answer.statusCode() >= 300 && !type.startsWith("application/problem+json"))
      throw new IOException("HTTP " + answer.statusCode()); // a proxy answers: the outcome is unknown
    var json = JSON.readTree(answer.body());
    if (answer.statusCode() >= 400) throw new Problem(json);
    return new Answer(json, answer.headers());
  }
}
