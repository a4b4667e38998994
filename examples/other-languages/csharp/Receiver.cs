using System.Collections.Concurrent;
using System.Text.Json;

static class Receiver
{
    public static Task Run()
    {
        var seen = new ConcurrentDictionary<string, bool>(); // keep it in your database
        var secret = Environment.GetEnvironmentVariable("WEBHOOK_SECRET")!;
        var app = WebApplication.Create();
        app.MapPost("/{*path}", async (HttpRequest request) =>
        {
            using var body = new MemoryStream();
            await request.Body.CopyToAsync(body);
            if (!Webhook.IsGenuine(body.ToArray(), request.Headers, secret)) return Results.BadRequest();
            using var received = JsonDocument.Parse(body.ToArray());
            var item = received.RootElement;
            if (seen.TryAdd(item.GetProperty("id").GetString()!, true)) // note it, and do the work later
                Console.WriteLine($"{item.GetProperty("type")} {item.GetProperty("subject")}");
            return Results.NoContent(); // within 10 s
        });
        return app.RunAsync("http://127.0.0.1:8080");
    }
}
