"""A program on the client that openapi-generator makes: it uses the gateway at GATEWAY_URL, and prints what it found. Main.java does the same."""

import json
import os

import openapi_client as gateway

ENTERPRISE = "ent-harbour"
# Has no asset number.
MEMBER = "mem-harbour-dora"
# Another member has it.
TAKEN = "8000001002"

configuration = gateway.Configuration(host=os.environ["GATEWAY_URL"], api_key={"apiKey": os.environ["API_KEY"]})
client = gateway.ApiClient(configuration)
found = {}


def order():
    orders = gateway.LicenceOrdersApi(client)
    item = gateway.NewBuy(
        order_type=gateway.OrderType.NEW_BUY,
        license_type=gateway.LicenseType.CLOUD_ACCOUNT,
        customer=gateway.OrderCustomer(customer_id="cus-harbour-default", enterprise_global_id=ENTERPRISE),
        assets=[gateway.BoughtAsset(products=[gateway.OrderProduct(product_uri="draft.pro", limit_concurrent=5)])],
    )
    body = gateway.PlaceOrder(channel_code="crm", channel_order_id="SO-python", items=[item])
    records = [orders.place_order(body), orders.get_order("crm", "SO-python")]
    found["states"] = [record.state for record in records]
    found["licenseOrderIds"] = [record.items[0].license_order_id for record in records]


def problem():
    try:
        gateway.MembersApi(client).set_member_asset_nums(
            ENTERPRISE, MEMBER, gateway.SetAssetNums(asset_nums=[TAKEN])
        )
    except gateway.ApiException as refused:
        body = json.loads(refused.body)
        found["status"] = refused.status
        found.update({name: body[name] for name in ("code", "outcome", "conflicts")})


def edit():
    members = gateway.MembersApi(client)
    members.update_member(ENTERPRISE, MEMBER, gateway.UpdateMember(account="dora", name="Dora of Python"))
    found["name"] = members.get_member(ENTERPRISE, MEMBER).name


def pages():
    enterprises = gateway.CustomersAndEnterprisesApi(client)
    asset_ids, page, last = [], 1, 1
    while page <= last:
        one = enterprises.list_assets(ENTERPRISE, page=page, page_size=5)
        asset_ids += [asset.asset_id for asset in one.items]
        page, last = page + 1, one.total_pages
    found["assetIds"] = asset_ids


def webhook():
    webhooks = gateway.WebhooksApi(client)
    wanted = gateway.CreateWebhook(
        url="http://127.0.0.1:8080/hook", types=[gateway.WantedEventType.LICENSE_ORDER_IN_DOUBT]
    )
    created = webhooks.create_webhook(wanted)
    found["hasSecret"] = created.secret.startswith("whsec_")
    found["url"] = webhooks.get_webhook(created.webhook_id).url


for step in (order, problem, edit, pages, webhook):
    step()
print(json.dumps(found))
