using System.Globalization;
using System.Security.Cryptography;
using System.Text;

static class Webhook
{
    public static bool IsGenuine(byte[] body, IHeaderDictionary headers, string secret)
    {
        var sent = headers["webhook-timestamp"].ToString();
        if (!long.TryParse(sent, NumberStyles.None, CultureInfo.InvariantCulture, out var seconds)) return false;
        if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - seconds) > 300) return false;
        byte[] signed = [.. Encoding.UTF8.GetBytes($"{headers["webhook-id"]}.{sent}."), .. body];
        var key = Convert.FromBase64String(secret["whsec_".Length..]);
        if (key.Length == 0) return false;
        var wanted = Encoding.UTF8.GetBytes("v1," + Convert.ToBase64String(HMACSHA256.HashData(key, signed)));
        return headers["webhook-signature"].ToString().Split(' ')
            .Any(each => CryptographicOperations.FixedTimeEquals(Encoding.UTF8.GetBytes(each), wanted));
    }
}
