package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const secretPrefix = "whsec_"

// NewSecret returns a random secret of 32 bytes: whsec_ and base64.
func NewSecret() string {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(raw)
}

// Key returns the key of a secret: the decoded base64 after the prefix whsec_, or the bytes of a
// secret without the prefix.
func Key(secret string) []byte {
	if coded, ok := strings.CutPrefix(secret, secretPrefix); ok {
		if raw, err := base64.StdEncoding.DecodeString(coded); err == nil {
			return raw
		}
	}
	return []byte(secret)
}

// Sign returns a signature of a message: "v1," and the HMAC-SHA256 of "id.timestamp.body" in base64.
func Sign(secret, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, Key(secret))
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Header returns the headers of a message, with one signature per secret: webhook-id, which is the
// same at every attempt; webhook-timestamp, the time of the attempt in epoch seconds; and
// webhook-signature.
func Header(contentType, id string, at time.Time, body []byte, secrets ...string) http.Header {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		signatures[i] = Sign(secret, id, timestamp, body)
	}
	h := http.Header{}
	h.Set("Content-Type", contentType)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", timestamp)
	h.Set("Webhook-Signature", strings.Join(signatures, " "))
	return h
}
