// Runs the verifier over the test vectors: go test
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"
)

type vector struct {
	Name, About, Expected string
	License, PublicKeyPem string
	LicenseBase64         []byte // encoding/json decodes it
	App, Fingerprint      string
	Now, LastSeen         time.Time
}

func TestVectors(t *testing.T) {
	path := os.Getenv("VECTORS")
	if path == "" {
		path = "../../../test/vectors/vectors.json"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, vector := range vectors {
		t.Run(vector.Name, func(t *testing.T) {
			if verdict := vector.verdict(t); verdict != vector.Expected {
				t.Errorf("%s: %s instead of %s", vector.About, verdict, vector.Expected)
			}
		})
		if vector.Name == "good-expires" {
			vector.Now = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
			if verdict := vector.verdict(t); verdict != "expired" {
				t.Errorf("an expiry, with a clock that shows a year after 9999: %s instead of expired", verdict)
			}
		}
	}
	fmt.Println(len(vectors), "vectors")
}

func (v vector) verdict(t *testing.T) string {
	key, err := ParsePublicKey([]byte(v.PublicKeyPem))
	if err != nil {
		t.Fatal(err)
	}
	file := v.LicenseBase64
	if file == nil {
		file = []byte(v.License)
	}
	if _, err = (Verifier{key, v.App, v.Fingerprint}).Verify(file, v.Now, v.LastSeen); err != nil {
		return err.Error()
	}
	return "ok"
}
