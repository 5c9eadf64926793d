// Runs the verifier over the test vectors: dotnet run --project test
// With xUnit, make each vector a case of a theory.
using System;
using System.Globalization;
using System.IO;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

public static class VectorsTest
{
    public static int Main()
    {
        string file = Environment.GetEnvironmentVariable("VECTORS") ?? "../../../test/vectors/vectors.json";
        int count = 0, failures = 0;
        using (JsonDocument vectors = JsonDocument.Parse(File.ReadAllText(file)))
        {
            foreach (JsonElement vector in vectors.RootElement.EnumerateArray())
            {
                string verdict = Verdict(vector), expected = Member(vector, "expected")!;
                if (verdict != expected)
                {
                    Console.WriteLine($"{Member(vector, "name")}: {verdict} instead of {expected}");
                    failures++;
                }
                count++;
            }
        }
        Console.WriteLine($"{count} vectors");
        return failures == 0 ? 0 : 1;
    }

    private static string Verdict(JsonElement vector)
    {
        string? license = Member(vector, "license"), lastSeen = Member(vector, "lastSeen");
        byte[] file = license == null
            ? Convert.FromBase64String(Member(vector, "licenseBase64")!)
            : Encoding.UTF8.GetBytes(license);
        try
        {
            using (ECDsa key = VerifyLicense.ParsePublicKey(Member(vector, "publicKeyPem")!))
                VerifyLicense.Verify(
                    file,
                    key,
                    Member(vector, "app")!,
                    Member(vector, "fingerprint")!,
                    Time(Member(vector, "now")!),
                    lastSeen == null ? (DateTimeOffset?)null : Time(lastSeen));
            return "ok";
        }
        catch (LicenseRefusedException refused)
        {
            return refused.Message;
        }
    }

    private static DateTimeOffset Time(string text)
    {
        return DateTimeOffset.Parse(text, CultureInfo.InvariantCulture);
    }

    private static string? Member(JsonElement vector, string name)
    {
        return vector.TryGetProperty(name, out JsonElement value) ? value.GetString() : null;
    }
}
