import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class BuyTest {
  static Process sandbox;
  static JsonNode started;

  @BeforeAll
  static void start() throws Exception {
    sandbox = new ProcessBuilder("node_modules/.bin/licensing-sandbox", "--json", "--stdin")
        .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    sandbox.outputWriter().append("{}\n").flush();
    var line = sandbox.inputReader().readLine();
    assertNotNull(line, "licensing-sandbox did not start: standard error says why");
    started = Licensing.JSON.readTree(line);
    Licensing.url = started.get("url").asText();
    Licensing.apiKey = started.get("apiKey").asText();
  }

  @AfterAll
  static void stop() throws Exception {
    sandbox.destroy();
    sandbox.waitFor();
  }

  @Test
  void theSameNumberBuysOnce() throws Exception {
    assertEquals(Buy.buy("SO-1").get("items"), Buy.buy("SO-1").get("items"));
  }

  @Test
  void aLostAnswerLeavesTheOutcomeUnknown() throws Exception {
    var fault = """
        { "operation": "batchOrder", "phase": "after", "times": 1, "action": { "reset": "before-headers" } }""";
    var faults = URI.create(started.at("/sandbox/controlUrl").asText() + "/faults");
    var request = HttpRequest.newBuilder(faults).POST(HttpRequest.BodyPublishers.ofString(fault)).build();
    Licensing.HTTP.send(request, HttpResponse.BodyHandlers.discarding());
    var problem = assertThrows(Licensing.Problem.class, () -> Buy.buy("SO-2"));
    assertEquals("unknown", problem.fields.get("outcome").asText());
  }
}
