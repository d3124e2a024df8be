package dynamohttp_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/onefold/onefold/dynamo/dynamohttp"
)

// TestSigned signs requests for handlers that are served next to the protocol. Requests that were
// changed on the way must be refused.
func TestSigned(t *testing.T) {
	const path, body = "/tasks/back%20up;a=b/%2F~x", "what to do"
	keys := map[string]string{testID: testSecret}
	for _, c := range []struct {
		name, code string
		keys       map[string]string
		secret     string
		body       string
		spoil      func(*http.Request)
	}{
		{name: "good", keys: keys},
		{name: "no keys", secret: "any"},
		{name: "no keys, no signature", code: "MissingAuthenticationTokenException", spoil: func(r *http.Request) { r.Header.Del("Authorization") }},
		{name: "no signature", keys: keys, code: "MissingAuthenticationTokenException", spoil: func(r *http.Request) { r.Header.Del("Authorization") }},
		{name: "basic", keys: keys, code: "MissingAuthenticationTokenException", spoil: func(r *http.Request) { r.SetBasicAuth(testID, testSecret) }},
		{name: "secret", keys: keys, secret: "another", code: "InvalidSignatureException"},
		{name: "path", keys: keys, code: "InvalidSignatureException", spoil: func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/tasks/other", "" }},
		{name: "root", keys: keys, code: "InvalidSignatureException", spoil: func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/", "" }},
		{name: "query", keys: keys, code: "InvalidSignatureException", spoil: func(r *http.Request) { r.URL.RawQuery = "all=1" }},
		{name: "method", keys: keys, code: "InvalidSignatureException", spoil: func(r *http.Request) { r.Method = http.MethodDelete }},
		{name: "body", keys: keys, code: "InvalidSignatureException", spoil: func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("what not to do")) }},
		{name: "large", keys: keys, body: strings.Repeat("a", 64<<10)},
		{name: "too large", keys: keys, body: strings.Repeat("a", 64<<10+1), code: "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHandler(t, open(t), dynamohttp.Options{Keys: c.keys, Clock: func() time.Time { return signedAt }})
			if c.secret == "" {
				c.secret = testSecret
			}
			if c.body == "" {
				c.body = body
			}
			r := httptest.NewRequest(http.MethodPost, "http://db.example"+path, strings.NewReader(c.body))
			hash := sha256.Sum256([]byte(c.body))
			if err := v4.NewSigner().SignHTTP(context.Background(), aws.Credentials{AccessKeyID: testID, SecretAccessKey: c.secret}, r, hex.EncodeToString(hash[:]), "dynamodb", testRegion, signedAt); err != nil {
				t.Fatal(err)
			}
			if c.spoil != nil {
				c.spoil(r)
			}
			w, got := httptest.NewRecorder(), "nothing"
			h.Signed(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				b, err := io.ReadAll(r.Body)
				if got = string(b); err != nil {
					t.Error(err)
				}
			})).ServeHTTP(w, r)
			switch {
			case c.code == "" && (w.Code != http.StatusOK || got != c.body):
				t.Errorf("got %d %s, and %d bytes of the body", w.Code, w.Body, len(got))
			case c.code == "too large" && (w.Code != http.StatusRequestEntityTooLarge || got != "nothing"):
				t.Errorf("got %d %s", w.Code, w.Body)
			case c.code != "" && c.code != "too large" && (answerOf(t, w).code != c.code || got != "nothing"):
				t.Errorf("got %d %s, want %s", w.Code, w.Body, c.code)
			}
		})
	}
}
