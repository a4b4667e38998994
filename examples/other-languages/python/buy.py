import sys
from licensing import Problem, call

def buy(number):
    customer = {"customerId": "cus-harbour-default", "enterpriseGlobalId": "ent-harbour"}
    asset = {"products": [{"productUri": "draft.pro", "limitConcurrent": 5}]}
    item = {"orderType": "new_buy", "licenseType": "cloud_account", "customer": customer, "assets": [asset]}
    order = {"channelCode": "crm", "channelOrderId": number, "items": [item]}
    return call("POST", "v1/license-orders", order)[0]

if __name__ == "__main__":
    try:
        record = buy(sys.argv[1])
        print(record["state"], record["items"][0]["licenseOrderId"])
    except Problem as problem:
        # unknown: ask again, under the same number
        print(problem.fields["outcome"], problem.fields["code"], problem.fields["requestId"])
