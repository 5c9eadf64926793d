// Verifies signed licenses offline, with nothing but the standard library.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const usage = `usage: verify-license LICENSE.json PUBLIC_KEY.pem APP FINGERPRINT [--last-seen TIME]

LICENSE.json holds a license, or the whole answer of an activation. Prints "ok", or why the license is refused; the
exit status is 0 or 1, and 2 if something else is wrong. Key, app and fingerprint are the verifier's own: nothing in
the license is trusted to say them. TIME is the last time that was seen, such as 2026-01-02T03:04:05.678Z.`

// LicenseRefused is one of the codes in docs/verifying.md.
type LicenseRefused string

func (reason LicenseRefused) Error() string { return string(reason) }

// Verifier holds what is built into the application.
type Verifier struct {
	PublicKey   *ecdsa.PublicKey // from ParsePublicKey
	App         string
	Fingerprint string
}

// Verify gives back the license, if it is good; use nothing of the file but that. The error is a LicenseRefused.
// lastSeen is the latest time that the application has ever seen, zero at first: keep it, and give it the next time.
func (v Verifier) Verify(file []byte, now, lastSeen time.Time) (map[string]any, error) {
	license, err := readLicense(file)
	if err != nil {
		return nil, err
	}
	signature := license["signature"]
	delete(license, "signature")
	signed, err := canonical(license)
	if err != nil {
		return nil, err
	}

	_, expires := license["expiresAt"]
	_, isLeased := license["leaseExpiresAt"]

	// The algorithm is the verifier's choice, and so is the key: the license may only agree.
	switch {
	case license["alg"] != "ES256":
		return nil, LicenseRefused("wrong_algorithm")
	case license["kid"] != thumbprint(v.PublicKey):
		return nil, LicenseRefused("unknown_key")
	case !isSignature(signature, signed, v.PublicKey):
		return nil, LicenseRefused("bad_signature")
	case license["app"] != v.App:
		return nil, LicenseRefused("wrong_app")
	case license["machineFingerprint"] != v.Fingerprint:
		return nil, LicenseRefused("wrong_machine")
	case (expires || isLeased) && now.Before(lastSeen):
		return nil, LicenseRefused("clock_set_back")
	}
	_, hasGrace := license["graceEndsAt"]
	graceError := checkEnd(license, "graceEndsAt", now, "expired")
	endError := checkEnd(license, "expiresAt", now, "expired")
	switch {
	case graceError == malformed || endError == malformed:
		return nil, malformed
	case endError != nil && (!hasGrace || graceError != nil):
		return nil, endError
	}
	if err := checkEnd(license, "leaseExpiresAt", now, "lease_over"); err != nil {
		return nil, err
	}
	return license, nil
}

const malformed = LicenseRefused("malformed")

// readLicense takes only what every reader would understand alike. By itself encoding/json keeps the last of two
// members of one name, and puts U+FFFD in the place of what is no character.
func readLicense(file []byte) (map[string]any, error) {
	if !utf8.Valid(file) || !json.Valid(file) || hasHalfCharacter(file) {
		return nil, malformed
	}
	decoder := json.NewDecoder(bytes.NewReader(file))
	decoder.UseNumber()
	content, err := readValue(decoder, 1)
	license, isObject := content.(map[string]any)
	if within, isAnswer := license["license"]; isAnswer { // the whole answer of an activation
		license, isObject = within.(map[string]any)
	}
	if err != nil || !isObject {
		return nil, malformed
	}
	return license, nil
}

// readValue expects valid JSON. It refuses more than 64 nested levels, because other parsers do.
func readValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if number, isNumber := token.(json.Number); isNumber {
		return readInteger(number.String())
	}
	delim, isContainer := token.(json.Delim)
	if err != nil || !isContainer {
		return token, err
	}
	if depth > 64 {
		return nil, malformed
	}
	list, members := []any{}, map[string]any{}
	for decoder.More() {
		var name any
		if delim == '{' {
			name, _ = decoder.Token()
		}
		value, err := readValue(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		if name == nil {
			list = append(list, value)
		} else if _, isThere := members[name.(string)]; isThere {
			return nil, malformed
		} else {
			members[name.(string)] = value
		}
	}
	_, err = decoder.Token() // the end of the list or object
	if delim == '{' {
		return members, err
	}
	return list, err
}

// readInteger takes integers that no reader would round, in the only spelling of theirs.
func readInteger(text string) (any, error) {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != text || number >= 1<<53 || number <= -(1<<53) {
		return nil, malformed
	}
	return number, nil
}

var (
	escapes = regexp.MustCompile(`\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\[^u]`) // both halves of a character; \\, \n, ...
	half    = regexp.MustCompile(`\\u[dD][89a-fA-F]`)
)

func hasHalfCharacter(validJSON []byte) bool {
	return half.Match(escapes.ReplaceAll(validJSON, []byte(" ")))
}

var simpleName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*$`)

// canonical is the RFC 8785 form of what a license is made of: objects with simple names, lists, strings and integers.
func canonical(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return quote(value), nil
	case int64:
		return strconv.FormatInt(value, 10), nil
	case []any:
		items := make([]string, 0, len(value))
		for _, item := range value {
			text, err := canonical(item)
			if err != nil {
				return "", err
			}
			items = append(items, text)
		}
		return "[" + strings.Join(items, ",") + "]", nil
	case map[string]any:
		members := make([]string, 0, len(value))
		for name, member := range value {
			if !simpleName.MatchString(name) {
				return "", malformed
			}
			text, err := canonical(member)
			if err != nil {
				return "", err
			}
			members = append(members, quote(name)+":"+text)
		}
		sort.Strings(members) // no character of a name sorts before the quote behind it
		return "{" + strings.Join(members, ",") + "}", nil
	}
	return "", malformed
}

var short = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\b", `\b`, "\t", `\t`, "\n", `\n`, "\f", `\f`, "\r", `\r`)
var control = regexp.MustCompile(`[\x00-\x1f]`)

// quote escapes what has to be escaped and nothing else, unlike encoding/json.
func quote(text string) string {
	escaped := control.ReplaceAllStringFunc(short.Replace(text), func(character string) string {
		return fmt.Sprintf(`\u%04x`, character[0])
	})
	return `"` + escaped + `"`
}

var signatureForm = regexp.MustCompile(`^[A-Za-z0-9_-]{85}[AQgw]$`)

// isSignature says whether it is one, in the only spelling of its 64 bytes r||s in base64url.
func isSignature(signature any, message string, key *ecdsa.PublicKey) bool {
	text, isText := signature.(string)
	if !isText || !signatureForm.MatchString(text) {
		return false
	}
	numbers, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	hash := sha256.Sum256([]byte(message))
	return ecdsa.Verify(key, hash[:], new(big.Int).SetBytes(numbers[:32]), new(big.Int).SetBytes(numbers[32:]))
}

var timeForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$`)

// checkEnd compares times, not texts: the text of a year after 9999 sorts before that of an earlier year.
func checkEnd(license map[string]any, member string, now time.Time, reason LicenseRefused) error {
	value, isThere := license[member]
	if !isThere {
		return nil
	}
	text, isText := value.(string)
	end, err := time.Parse(time.RFC3339, text)
	switch {
	case !isText || !timeForm.MatchString(text) || err != nil:
		return malformed
	case !end.After(now):
		return reason
	}
	return nil
}

// ParsePublicKey reads SubjectPublicKeyInfo in PEM.
func ParsePublicKey(text []byte) (*ecdsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no PEM")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, isECDSA := parsed.(*ecdsa.PublicKey)
	if !isECDSA || key.Curve != elliptic.P256() {
		return nil, errors.New("not a P-256 public key")
	}
	return key, nil
}

// thumbprint is the id of a key (RFC 7638).
func thumbprint(key *ecdsa.PublicKey) string {
	encode := base64.RawURLEncoding.EncodeToString
	x, y := encode(key.X.FillBytes(make([]byte, 32))), encode(key.Y.FillBytes(make([]byte, 32)))
	hash := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + x + `","y":"` + y + `"}`))
	return encode(hash[:])
}

func run(args []string) error {
	var lastSeen time.Time
	file, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	key, err := ParsePublicKey(text)
	if err != nil {
		return err
	}
	if len(args) == 6 {
		if lastSeen, err = time.Parse(time.RFC3339, args[5]); err != nil {
			return err
		}
	}
	_, err = Verifier{key, args[2], args[3]}.Verify(file, time.Now(), lastSeen)
	return err
}

func main() {
	args := os.Args[1:]
	if len(args) != 4 && !(len(args) == 6 && args[4] == "--last-seen") {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	err := run(args)
	var refused LicenseRefused
	switch {
	case err == nil:
		fmt.Println("ok")
	case errors.As(err, &refused):
		fmt.Println(refused)
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
