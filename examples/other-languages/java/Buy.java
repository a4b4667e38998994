import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;

class Buy {
  static JsonNode buy(String number) throws Exception {
    var customer = Map.of("customerId", "cus-harbour-default", "enterpriseGlobalId", "ent-harbour");
    var asset = Map.of("products", List.of(Map.of("productUri", "draft.pro", "limitConcurrent", 5)));
    var item = Map.of("orderType", "new_buy", "licenseType", "cloud_account",
        "customer", customer, "assets", List.of(asset));
    var order = Map.of("channelCode", "crm", "channelOrderId", number, "items", List.of(item));
    return Licensing.call("POST", "v1/license-orders", order).body();
  }

  public static void main(String[] args) throws Exception {
    try {
      var order = buy(args[0]);
      System.out.printf("%s %s%n", order.at("/state").asText(), order.at("/items/0/licenseOrderId").asText());
    } catch (Licensing.Problem problem) {
      // unknown: ask again, under the same number
      var fields = problem.fields;
      System.out.printf("%s %s %s%n", fields.get("outcome").asText(), fields.get("code").asText(),
          fields.get("requestId").asText());
    }
  }
}
