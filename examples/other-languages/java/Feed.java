import java.nio.file.Files;
import java.nio.file.Path;

class Feed {
  public static void main(String[] args) throws Exception {
    var kept = Path.of("feed.cursor"); // keep it in your database
    var cursor = Files.exists(kept) ? Files.readString(kept) : null;
    while (true) {
      var path = "v1/events?limit=1000" + (cursor == null ? "" : "&after=" + cursor);
      var page = Licensing.call("GET", path, null).body();
      for (var event : page.get("items")) // your work
        System.out.printf("%s %s%n", event.get("type").asText(), event.get("subject").asText());
      var next = page.get("next").asText();
      if (next.equals(cursor)) break; // nothing new: ask again in a few seconds
      cursor = next;
      Files.writeString(kept, cursor);
    }
  }
}
