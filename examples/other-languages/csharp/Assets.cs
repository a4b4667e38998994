using System.Text.RegularExpressions;

static class Assets
{
    public static async Task Run()
    {
        var path = "v1/enterprises/ent-harbour/assets?pageSize=5";
        while (path != "")
        {
            var (page, headers) = await Licensing.Call(HttpMethod.Get, path);
            foreach (var asset in page.GetProperty("items").EnumerateArray())
                Console.WriteLine(asset.GetProperty("assetNum"));
            var links = headers.TryGetValues("Link", out var values) ? string.Join(", ", values) : "";
            path = Regex.Match(links, "<([^>]*)>; rel=\"next\"").Groups[1].Value;
        }
    }
}
