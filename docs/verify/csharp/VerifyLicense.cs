// Verifies signed licenses offline, with nothing but what .NET 8 and later bring.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;

/// <summary>The message is one of the codes in docs/verifying.md.</summary>
public sealed class LicenseRefusedException : Exception
{
    public LicenseRefusedException(string reason) : base(reason) { }
}

public static class VerifyLicense
{
    private const string Usage =
        @"usage: VerifyLicense LICENSE.json PUBLIC_KEY.pem APP FINGERPRINT [--last-seen TIME]

LICENSE.json holds a license, or the whole answer of an activation. Prints ""ok"", or why the license is refused; the
exit status is 0 or 1, and 2 if something else is wrong. Key, app and fingerprint are the verifier's own: nothing in
the license is trusted to say them. TIME is the last time that was seen, such as 2026-01-02T03:04:05.678Z.";

    /// <summary>The license, if it is good. Use nothing of the file but what this gives back.</summary>
    /// <param name="key">from <see cref="ParsePublicKey"/></param>
    /// <param name="lastSeen">the latest time that the application has ever seen, or null at first: keep it, and give
    /// it the next time</param>
    /// <exception cref="LicenseRefusedException"/>
    public static IReadOnlyDictionary<string, JsonElement> Verify(
        byte[] file, ECDsa key, string app, string fingerprint, DateTimeOffset now, DateTimeOffset? lastSeen)
    {
        Dictionary<string, JsonElement> license = ReadLicense(file);
        string? signature = Text(license, "signature");
        license.Remove("signature");
        string signed = Canonical(license);

        // The algorithm is the verifier's choice, and so is the key: the license may only agree.
        Require(Text(license, "alg") == "ES256", "wrong_algorithm");
        Require(Text(license, "kid") == Thumbprint(key), "unknown_key");
        Require(IsSignature(signature, signed, key), "bad_signature");

        Require(Text(license, "app") == app, "wrong_app");
        Require(Text(license, "machineFingerprint") == fingerprint, "wrong_machine");
        bool hasEnd = license.ContainsKey("expiresAt") || license.ContainsKey("leaseExpiresAt");
        Require(!hasEnd || lastSeen == null || now >= lastSeen, "clock_set_back");
        bool isInGrace = license.ContainsKey("graceEndsAt") && !HasPassed(license, "graceEndsAt", now);
        Require(!HasPassed(license, "expiresAt", now) || isInGrace, "expired");
        Require(!HasPassed(license, "leaseExpiresAt", now), "lease_over");
        return license;
    }

    private static void Require(bool condition, string reason)
    {
        if (!condition) throw new LicenseRefusedException(reason);
    }

    private static string? Text(Dictionary<string, JsonElement> license, string member)
    {
        return license.TryGetValue(member, out JsonElement value) && value.ValueKind == JsonValueKind.String
            ? value.GetString()
            : null;
    }

    private static Dictionary<string, JsonElement> ReadLicense(byte[] file)
    {
        try
        {
            string text = new UTF8Encoding(false, throwOnInvalidBytes: true).GetString(file);
            using (JsonDocument document = JsonDocument.Parse(text))
            {
                JsonElement content = document.RootElement;
                CheckUnambiguous(content);
                if (content.ValueKind == JsonValueKind.Object && content.TryGetProperty("license", out JsonElement license))
                    content = license; // in the whole answer of an activation
                Require(content.ValueKind == JsonValueKind.Object, "malformed");
                return Members(content.Clone()); // which lives longer than the document
            }
        }
        catch (JsonException) { throw new LicenseRefusedException("malformed"); }
        catch (DecoderFallbackException) { throw new LicenseRefusedException("malformed"); } // not UTF-8
        catch (InvalidOperationException) { throw new LicenseRefusedException("malformed"); } // half a character
    }

    private static Dictionary<string, JsonElement> Members(JsonElement value)
    {
        return value.EnumerateObject().ToDictionary(member => member.Name, member => member.Value);
    }

    private static readonly Regex Integer = new Regex(@"\A(0|-?[1-9][0-9]{0,15})\z");

    /// <summary>
    /// Takes only what every reader would understand alike: JsonDocument lets members be there twice, and keeps numbers
    /// that others round.
    /// </summary>
    private static void CheckUnambiguous(JsonElement value)
    {
        switch (value.ValueKind)
        {
            case JsonValueKind.Object:
                var names = new HashSet<string>();
                foreach (JsonProperty member in value.EnumerateObject())
                {
                    Require(names.Add(member.Name), "malformed");
                    CheckUnambiguous(member.Value);
                }
                break;
            case JsonValueKind.Array:
                foreach (JsonElement item in value.EnumerateArray()) CheckUnambiguous(item);
                break;
            case JsonValueKind.Number:
                Require(Integer.IsMatch(value.GetRawText()) && Math.Abs(value.GetInt64()) < 1L << 53, "malformed");
                break;
            case JsonValueKind.String:
                value.GetString(); // throws for half a character
                break;
        }
    }

    private static readonly Regex SimpleName = new Regex(@"\A[A-Za-z][A-Za-z0-9._-]*\z");

    /// <summary>The RFC 8785 form of what a license is made of: objects with simple names, lists, strings and integers.</summary>
    private static string Canonical(Dictionary<string, JsonElement> members)
    {
        Require(members.Keys.All(name => SimpleName.IsMatch(name)), "malformed");
        IEnumerable<string> sorted = members.Keys.OrderBy(name => name, StringComparer.Ordinal);
        return "{" + string.Join(",", sorted.Select(name => Quote(name) + ":" + Canonical(members[name]))) + "}";
    }

    private static string Canonical(JsonElement value)
    {
        switch (value.ValueKind)
        {
            case JsonValueKind.Object: return Canonical(Members(value));
            case JsonValueKind.Array: return "[" + string.Join(",", value.EnumerateArray().Select(Canonical)) + "]";
            case JsonValueKind.String: return Quote(value.GetString()!);
            case JsonValueKind.Number: return value.GetRawText(); // has been checked
            default: throw new LicenseRefusedException("malformed");
        }
    }

    /// <summary>Escapes what has to be escaped and nothing else, unlike JsonSerializer.</summary>
    private static string Quote(string text)
    {
        const string escaped = "\"\\\b\f\n\r\t", escapes = "\"\\bfnrt";
        var quoted = new StringBuilder("\"");
        foreach (char unit in text)
        {
            int escape = escaped.IndexOf(unit);
            if (escape >= 0) quoted.Append('\\').Append(escapes[escape]);
            else if (unit < ' ') quoted.Append("\\u").Append(((int)unit).ToString("x4", CultureInfo.InvariantCulture));
            else quoted.Append(unit);
        }
        return quoted.Append('"').ToString();
    }

    private static readonly Regex SignatureForm = new Regex(@"\A[A-Za-z0-9_-]{85}[AQgw]\z");

    /// <summary>Whether it is one, in the only spelling of its 64 bytes r||s in base64url.</summary>
    private static bool IsSignature(string? signature, string message, ECDsa key)
    {
        if (signature == null || !SignatureForm.IsMatch(signature)) return false;
        byte[] numbers = Convert.FromBase64String(signature.Replace('-', '+').Replace('_', '/') + "==");
        try
        {
            return key.VerifyData(
                Encoding.UTF8.GetBytes(message),
                numbers,
                HashAlgorithmName.SHA256,
                DSASignatureFormat.IeeeP1363FixedFieldConcatenation);
        }
        catch (CryptographicException) // some platforms throw for numbers that are out of range
        {
            return false;
        }
    }

    private static readonly Regex TimeForm =
        new Regex(@"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z\z");

    /// <summary>Times are all written alike, so that the order of the texts is that of the times.</summary>
    private static bool HasPassed(Dictionary<string, JsonElement> license, string member, DateTimeOffset now)
    {
        if (!license.ContainsKey(member)) return false;
        string? time = Text(license, member);
        if (time == null || !TimeForm.IsMatch(time)) throw new LicenseRefusedException("malformed");
        string text = now.ToUniversalTime().ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture);
        return string.CompareOrdinal(time, text) <= 0;
    }

    /// <summary>Reads SubjectPublicKeyInfo in PEM. Its beginning says that it is a key of P-256.</summary>
    public static ECDsa ParsePublicKey(string pem)
    {
        ECDsa key = ECDsa.Create();
        key.ImportFromPem(pem);
        string spki = Convert.ToBase64String(key.ExportSubjectPublicKeyInfo());
        if (!spki.StartsWith("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE", StringComparison.Ordinal))
            throw new CryptographicException("not a P-256 public key");
        return key;
    }

    /// <summary>The id of a key (RFC 7638).</summary>
    private static string Thumbprint(ECDsa key)
    {
        byte[] spki = key.ExportSubjectPublicKeyInfo(); // ends with the coordinates
        string x = Base64Url(spki.Skip(spki.Length - 64).Take(32).ToArray());
        string y = Base64Url(spki.Skip(spki.Length - 32).ToArray());
        string jwk = "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"" + x + "\",\"y\":\"" + y + "\"}";
        using (SHA256 hash = SHA256.Create()) return Base64Url(hash.ComputeHash(Encoding.ASCII.GetBytes(jwk)));
    }

    private static string Base64Url(byte[] bytes)
    {
        return Convert.ToBase64String(bytes).TrimEnd('=').Replace('+', '-').Replace('/', '_');
    }

    public static int Main(string[] args)
    {
        if (args.Length != 4 && !(args.Length == 6 && args[4] == "--last-seen"))
        {
            Console.Error.WriteLine(Usage);
            return 2;
        }
        try
        {
            DateTimeOffset? lastSeen = null;
            if (args.Length == 6) lastSeen = DateTimeOffset.Parse(args[5], CultureInfo.InvariantCulture);
            using (ECDsa key = ParsePublicKey(File.ReadAllText(args[1])))
                Verify(File.ReadAllBytes(args[0]), key, args[2], args[3], DateTimeOffset.UtcNow, lastSeen);
            Console.WriteLine("ok");
            return 0;
        }
        catch (LicenseRefusedException refused)
        {
            Console.WriteLine(refused.Message);
            return 1;
        }
        catch (Exception error)
        {
            Console.Error.WriteLine(error.Message);
            return 2;
        }
    }
}
