// Receives events of a hub. Needs Go 1.19 and no modules. The module
// github.com/standard-webhooks/standard-webhooks/libraries/go verifies too.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

type event struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// verify returns the event, unless the hub has not sent it in the last five minutes.
func verify(key []byte, header http.Header, body []byte) (event, error) {
	var received event
	id, seconds := header.Get("webhook-id"), header.Get("webhook-timestamp")
	sent, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || time.Since(time.Unix(sent, 0)).Abs() > 5*time.Minute {
		return received, errors.New("the timestamp is more than five minutes off")
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + seconds + "."))
	mac.Write(body)
	right := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, each := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal(right, []byte(each)) {
			return received, json.Unmarshal(body, &received)
		}
	}
	return received, errors.New("no signature matches")
}

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil || len(key) == 0 {
		log.Fatal("WEBHOOK_SECRET must be the secret of the endpoint")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	var known sync.Map // in production: a table in which the id is unique
	receive := func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, 1_000_000))
		if err != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		received, err := verify(key, request.Header, body)
		if err != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		id := request.Header.Get("webhook-id")
		if _, isKnown := known.LoadOrStore(id, true); !isKnown {
			fmt.Println(id, received.Type) // store the event and its id in one transaction
		}
		response.WriteHeader(http.StatusNoContent)
	}
	server := http.Server{Addr: ":" + port, Handler: http.HandlerFunc(receive), ReadTimeout: 15 * time.Second}
	log.Fatal(server.ListenAndServe())
}
