import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CustomersAndEnterprisesApi;
import org.openapitools.client.api.LicenceOrdersApi;
import org.openapitools.client.api.MembersApi;
import org.openapitools.client.api.WebhooksApi;
import org.openapitools.client.model.Asset;
import org.openapitools.client.model.AssetPage;
import org.openapitools.client.model.BoughtAsset;
import org.openapitools.client.model.CreateWebhook;
import org.openapitools.client.model.LicenseType;
import org.openapitools.client.model.NewBuy;
import org.openapitools.client.model.OrderCustomer;
import org.openapitools.client.model.OrderProduct;
import org.openapitools.client.model.OrderRecord;
import org.openapitools.client.model.OrderType;
import org.openapitools.client.model.PlaceOrder;
import org.openapitools.client.model.Problem;
import org.openapitools.client.model.SetAssetNums;
import org.openapitools.client.model.UpdateMember;
import org.openapitools.client.model.WantedEventType;
import org.openapitools.client.model.WebhookWithSecret;

/** A program on the client that openapi-generator makes: it uses the gateway at GATEWAY_URL, and prints what it found. main.py does the same. */
public final class Main {
  private static final String ENTERPRISE = "ent-harbour";
  /** Has no asset number. */
  private static final String MEMBER = "mem-harbour-dora";
  /** Another member has it. */
  private static final String TAKEN = "8000001002";

  private final ApiClient client = new ApiClient();
  private final Map<String, Object> found = new LinkedHashMap<>();

  public static void main(String[] args) throws Exception {
    Main main = new Main();
    main.order();
    main.problem();
    main.edit();
    main.pages();
    main.webhook();
    System.out.println(main.client.getObjectMapper().writeValueAsString(main.found));
  }

  private Main() {
    URI gateway = URI.create(System.getenv("GATEWAY_URL"));
    client.setScheme(gateway.getScheme()).setHost(gateway.getHost()).setPort(gateway.getPort());
    client.setRequestInterceptor(request -> request.header("X-Api-Key", System.getenv("API_KEY")));
  }

  private void order() throws ApiException {
    LicenceOrdersApi orders = new LicenceOrdersApi(client);
    NewBuy item = new NewBuy();
    item.orderType(OrderType.NEW_BUY)
        .licenseType(LicenseType.CLOUD_ACCOUNT)
        .customer(new OrderCustomer().customerId("cus-harbour-default").enterpriseGlobalId(ENTERPRISE))
        .addAssetsItem(
            new BoughtAsset().addProductsItem(new OrderProduct().productUri("draft.pro").limitConcurrent(5)));
    PlaceOrder order = new PlaceOrder().channelCode("crm").channelOrderId("SO-java").addItemsItem(item);
    OrderRecord placed = orders.placeOrder(order, null, null);
    OrderRecord read = orders.getOrder("crm", "SO-java", null);
    found.put("states", List.of(placed.getState(), read.getState()));
    found.put(
        "licenseOrderIds",
        List.of(placed.getItems().get(0).getLicenseOrderId(), read.getItems().get(0).getLicenseOrderId()));
  }

  private void problem() throws Exception {
    SetAssetNums wanted = new SetAssetNums().addAssetNumsItem(TAKEN);
    try {
      new MembersApi(client).setMemberAssetNums(ENTERPRISE, MEMBER, wanted, null, null, null);
    } catch (ApiException refused) {
      Problem problem = client.getObjectMapper().readValue(refused.getResponseBody(), Problem.class);
      found.put("status", refused.getCode());
      found.put("code", problem.getCode());
      found.put("outcome", problem.getOutcome());
      found.put("conflicts", problem.getConflicts());
    }
  }

  private void edit() throws ApiException {
    MembersApi members = new MembersApi(client);
    UpdateMember edit = new UpdateMember().account("dora").name("Dora of Java");
    members.updateMember(ENTERPRISE, MEMBER, edit, null, null);
    found.put("name", members.getMember(ENTERPRISE, MEMBER, null, null, null, null).getName());
  }

  private void pages() throws ApiException {
    CustomersAndEnterprisesApi enterprises = new CustomersAndEnterprisesApi(client);
    List<String> assetIds = new ArrayList<>();
    int pages = 1;
    for (int page = 1; page <= pages; page++) {
      AssetPage one =
          enterprises.listAssets(ENTERPRISE, page, 5, null, null, null, null, null, null, null, null);
      pages = Math.toIntExact(one.getTotalPages());
      for (Asset asset : one.getItems()) assetIds.add(asset.getAssetId());
    }
    found.put("assetIds", assetIds);
  }

  private void webhook() throws ApiException {
    WebhooksApi webhooks = new WebhooksApi(client);
    CreateWebhook wanted =
        new CreateWebhook().url("http://127.0.0.1:8080/hook").addTypesItem(WantedEventType.LICENSE_ORDER_IN_DOUBT);
    WebhookWithSecret created = webhooks.createWebhook(wanted, null);
    found.put("hasSecret", created.getSecret().startsWith("whsec_"));
    found.put("url", webhooks.getWebhook(created.getWebhookId(), null).getUrl());
  }
}
