using System.Net;
using System.Net.Http.Headers;
using System.Text.Json;

class Problem(JsonElement fields) : Exception(fields.GetProperty("title").GetString())
{
    public JsonElement this[string name] => fields.GetProperty(name);
}

static class Licensing
{
    static string Variable(string name) => Environment.GetEnvironmentVariable(name)!;
    static readonly Uri Base = new(Variable("LICENSING_URL").TrimEnd('/') + "/");
    static readonly HttpClient Client = new(new HttpClientHandler { AllowAutoRedirect = false })
        { BaseAddress = Base, Timeout = TimeSpan.FromSeconds(60) };

    public static async Task<(JsonElement Body, HttpResponseHeaders Headers)> Call(
        HttpMethod method, string path, object? body = null)
    {
        using var request = new HttpRequestMessage(method, path);
        request.Headers.Add("X-Api-Key", Variable("LICENSING_API_KEY"));
        if (body is not null) request.Content = JsonContent.Create(body);
        using var answer = await Client.SendAsync(request);
        if (answer.StatusCode == HttpStatusCode.NoContent) return (default, answer.Headers);
        if (answer.Content.Headers.ContentType?.MediaType != "application/problem+json")
            answer.EnsureSuccessStatusCode(); // a proxy answers: the outcome is unknown
        var json = await answer.Content.ReadFromJsonAsync<JsonElement>();
        return answer.IsSuccessStatusCode ? (json, answer.Headers) : throw new Problem(json);
    }
}
