using System.Text.Json;

static class Buy
{
    public static async Task<JsonElement> Place(string number)
    {
        var customer = new { customerId = "cus-harbour-default", enterpriseGlobalId = "ent-harbour" };
        var asset = new { products = new[] { new { productUri = "draft.pro", limitConcurrent = 5 } } };
        var item = new { orderType = "new_buy", licenseType = "cloud_account", customer, assets = new[] { asset } };
        var order = new { channelCode = "crm", channelOrderId = number, items = new[] { item } };
        return (await Licensing.Call(HttpMethod.Post, "v1/license-orders", order)).Body;
    }

    public static async Task Run(string number)
    {
        try
        {
            var order = await Place(number);
            var bought = order.GetProperty("items")[0].GetProperty("licenseOrderId");
            Console.WriteLine($"{order.GetProperty("state")} {bought}");
        }
        catch (Problem problem)
        {
            // unknown: ask again, under the same number
            Console.WriteLine($"{problem["outcome"]} {problem["code"]} {problem["requestId"]}");
        }
    }
}
