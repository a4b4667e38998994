static class Feed
{
    public static async Task Run()
    {
        var cursor = File.Exists("feed.cursor") ? File.ReadAllText("feed.cursor") : ""; // keep it in your database
        while (true)
        {
            var path = "v1/events?limit=1000" + (cursor == "" ? "" : $"&after={cursor}");
            var (page, _) = await Licensing.Call(HttpMethod.Get, path);
            foreach (var item in page.GetProperty("items").EnumerateArray())
                Console.WriteLine($"{item.GetProperty("type")} {item.GetProperty("subject")}"); // your work
            var next = page.GetProperty("next").GetString()!;
            if (next == cursor) return; // nothing new: ask again in a few seconds
            File.WriteAllText("feed.cursor", cursor = next);
        }
    }
}
