import java.util.regex.Pattern;

class Assets {
  public static void main(String[] args) throws Exception {
    var next = Pattern.compile("<([^>]*)>; rel=\"next\"");
    var path = "v1/enterprises/ent-harbour/assets?pageSize=5";
    while (path != null) {
      var page = Licensing.call("GET", path, null);
      for (var asset : page.body().get("items")) System.out.println(asset.get("assetNum").asText());
      var link = next.matcher(page.headers().firstValue("Link").orElse(""));
      path = link.find() ? link.group(1) : null;
    }
  }
}
