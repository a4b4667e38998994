import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

class Receiver {
  public static void main(String[] args) throws Exception {
    Set<String> seen = ConcurrentHashMap.newKeySet(); // keep it in your database
    var secret = System.getenv("WEBHOOK_SECRET");
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", 8080), 0);
    server.createContext("/", exchange -> {
      var body = exchange.getRequestBody().readAllBytes();
      var isGenuine = Webhook.isGenuine(body, exchange.getRequestHeaders()::getFirst, secret);
      var event = isGenuine ? Licensing.JSON.readTree(body) : null;
      if (isGenuine && seen.add(event.get("id").asText())) // note it, and do the work later
        System.out.printf("%s %s%n", event.get("type").asText(), event.get("subject").asText());
      exchange.sendResponseHeaders(isGenuine ? 204 : 400, -1); // within 10 s
      exchange.close();
    });
    server.start();
  }
}
