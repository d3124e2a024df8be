package dynamohttp_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/onefold/onefold/dynamo/dynamohttp"
)

var signedAt = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const listTables = `{"Limit":5}`

// signing specifies how a request of the table below is signed.
type signing struct {
	id, secret, region, service string
	at                          time.Time
	unsigned                    []string // headers that are set after signing
	presign                     bool
	spoil                       func(*http.Request) // changes the signed request
}

func (s signing) request(t *testing.T) *http.Request {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://db.example/", strings.NewReader(listTables))
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	later := map[string]string{"X-Amz-Target": "DynamoDB_20120810.ListTables"}
	if len(s.unsigned) == 0 {
		r.Header.Set("X-Amz-Target", later["X-Amz-Target"])
	}
	hash := sha256.Sum256([]byte(listTables))
	credentials := aws.Credentials{AccessKeyID: s.id, SecretAccessKey: s.secret, SessionToken: "session"}
	signer, payload := v4.NewSigner(), hex.EncodeToString(hash[:])
	if s.presign {
		query := r.URL.Query()
		query.Set("X-Amz-Expires", "60")
		r.URL.RawQuery = query.Encode()
		signed, headers, err := signer.PresignHTTP(context.Background(), credentials, r, payload, s.service, s.region, s.at)
		if err != nil {
			t.Fatal(err)
		}
		if r.URL, err = url.Parse(signed); err != nil {
			t.Fatal(err)
		}
		for name, values := range headers {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	} else if err := signer.SignHTTP(context.Background(), credentials, r, payload, s.service, s.region, s.at); err != nil {
		t.Fatal(err)
	}
	for _, name := range s.unsigned {
		r.Header.Set(name, later[name])
	}
	if s.spoil != nil {
		s.spoil(r)
	}
	return r
}

func header(name string, change func(string) string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, change(r.Header.Get(name))) }
}

func replaced(old, with string) func(*http.Request) {
	return header("Authorization", func(v string) string { return strings.Replace(v, old, with, 1) })
}

func TestSignatures(t *testing.T) {
	handler := newHandler(t, open(t), dynamohttp.Options{
		Keys: map[string]string{testID: testSecret, "OTHER": "other"}, Clock: func() time.Time { return signedAt },
	})
	good := signing{id: testID, secret: testSecret, region: testRegion, service: "dynamodb", at: signedAt}
	with := func(change func(*signing)) signing {
		s := good
		change(&s)
		return s
	}
	for _, c := range []struct {
		name, code, text string
		signing          signing
	}{
		{"good", "", "", good},
		{"14 minutes ago", "", "", with(func(s *signing) { s.at = signedAt.Add(-14 * time.Minute) })},
		{"in 14 minutes", "", "", with(func(s *signing) { s.at = signedAt.Add(14 * time.Minute) })},
		{"16 minutes ago", "InvalidSignatureException", "Signature expired: 20261120T114400Z is now earlier than 20261120T114500Z (20261120T120000Z - 15 min.)", with(func(s *signing) { s.at = signedAt.Add(-16 * time.Minute) })},
		{"in 16 minutes", "InvalidSignatureException", "Signature not yet current: 20261120T121600Z", with(func(s *signing) { s.at = signedAt.Add(16 * time.Minute) })},
		{"other key", "", "", with(func(s *signing) { s.id, s.secret = "OTHER", "other" })},
		{"other key's secret", "InvalidSignatureException", "does not match the signature you provided", with(func(s *signing) { s.secret = "other" })},
		{"unknown key", "UnrecognizedClientException", "The security token included in the request is invalid.", with(func(s *signing) { s.id = "NOBODY" })},
		{"region", "InvalidSignatureException", "Credential should be scoped to a valid region, not 'eu-west-1'. ", with(func(s *signing) { s.region = "eu-west-1" })},
		{"service", "InvalidSignatureException", "Credential should be scoped to correct service: 'dynamodb'. ", with(func(s *signing) { s.service = "s3" })},
		{"terminator", "InvalidSignatureException", "valid terminator: 'aws4_request', not 'aws5'", with(func(s *signing) { s.spoil = replaced("aws4_request", "aws5") })},
		{"day", "InvalidSignatureException", "'20261119' != '20261120', from '20261120T120000Z'", with(func(s *signing) { s.spoil = replaced("/20261120/", "/20261119/") })},
		{"four parts", "IncompleteSignatureException", "Credential must have exactly 5 slash-delimited elements", with(func(s *signing) { s.spoil = replaced("/dynamodb/aws4_request", "/dynamodb") })},
		{"algorithm", "IncompleteSignatureException", "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25'", with(func(s *signing) { s.spoil = replaced("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA25") })},
		{"body", "InvalidSignatureException", "does not match", with(func(s *signing) {
			s.spoil = func(r *http.Request) {
				r.Body = httptest.NewRequest("POST", "/", strings.NewReader(`{"Limit":6}`)).Body
			}
		})},
		{"target", "InvalidSignatureException", "does not match", with(func(s *signing) {
			s.spoil = header("X-Amz-Target", func(string) string { return "DynamoDB_20120810.DescribeEndpoints" })
		})},
		{"session token", "InvalidSignatureException", "does not match", with(func(s *signing) {
			s.spoil = header("X-Amz-Security-Token", func(string) string { return "another" })
		})},
		{"host", "InvalidSignatureException", "does not match", with(func(s *signing) { s.spoil = func(r *http.Request) { r.Host = "elsewhere" } })},
		{"query", "InvalidSignatureException", "does not match", with(func(s *signing) { s.spoil = func(r *http.Request) { r.URL.RawQuery = "a=b" } })},
		{"signature", "InvalidSignatureException", "does not match", with(func(s *signing) { s.spoil = replaced("Signature=", "Signature=0") })},
		{"unsigned host", "InvalidSignatureException", "'Host' must be a 'SignedHeader' in the AWS Authorization.", with(func(s *signing) { s.spoil = replaced(";host", "") })},
		{"unsigned target", "InvalidSignatureException", "'X-Amz-Target' must be a 'SignedHeader'", with(func(s *signing) { s.unsigned = []string{"X-Amz-Target"} })},
		{"no date", "IncompleteSignatureException", "existence of either a 'X-Amz-Date' or a 'Date' header", with(func(s *signing) { s.spoil = func(r *http.Request) { r.Header.Del("X-Amz-Date") } })},
		{"garbled date", "IncompleteSignatureException", "Date must be in ISO-8601 'basic format'. Got '201'.", with(func(s *signing) { s.spoil = header("X-Amz-Date", func(string) string { return "201" }) })},
		{"nothing", "MissingAuthenticationTokenException", "Request is missing Authentication Token", with(func(s *signing) { s.spoil = func(r *http.Request) { r.Header.Del("Authorization") } })},
		{"basic", "MissingAuthenticationTokenException", "Request is missing Authentication Token", with(func(s *signing) { s.spoil = func(r *http.Request) { r.SetBasicAuth(testID, testSecret) } })},
		{"algorithm alone", "IncompleteSignatureException", "Authorization header requires 'Credential' parameter. Authorization header requires 'Signature' parameter. " +
			"Authorization header requires 'SignedHeaders' parameter. Authorization=AWS4-HMAC-SHA256", with(func(s *signing) { s.spoil = header("Authorization", func(string) string { return "AWS4-HMAC-SHA256" }) })},
		{"no equal sign", "IncompleteSignatureException", "'Credential' not a valid key=value pair (missing equal-sign) in Authorization header", with(func(s *signing) { s.spoil = replaced("Credential=", "Credential ") })},
		{"presigned", "", "", with(func(s *signing) { s.presign = true })},
		{"presigned a minute ago", "InvalidSignatureException", "Signature expired", with(func(s *signing) { s.presign, s.at = true, signedAt.Add(-62*time.Second) })},
		{"presigned and changed", "InvalidSignatureException", "does not match", with(func(s *signing) {
			s.presign = true
			s.spoil = func(r *http.Request) { r.URL.RawQuery += "&a=b" }
		})},
		{"presigned for a year", "IncompleteSignatureException", "X-Amz-Expires", with(func(s *signing) {
			s.presign = true
			s.spoil = func(r *http.Request) {
				r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "Expires=60", "Expires=31536000", 1)
			}
		})},
		{"presigned without date", "IncompleteSignatureException", "AWS query-string parameters must include 'X-Amz-Date'. Re-examine", with(func(s *signing) {
			s.presign = true
			s.spoil = func(r *http.Request) { r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "X-Amz-Date", "Date", 1) }
		})},
		{"both ways", "InvalidSignatureException", "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.", with(func(s *signing) {
			s.presign = true
			s.spoil = header("Authorization", func(string) string { return "AWS4-HMAC-SHA256" })
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, c.signing.request(t))
			a := answerOf(t, w)
			if a.code != c.code || !strings.Contains(a.message, c.text) {
				t.Errorf("got %d %s %q, want %s %q", a.status, a.code, a.message, c.code, c.text)
			}
			if strings.Contains(a.body, testSecret) {
				t.Error("the answer tells a secret")
			}
		})
	}
}

// answer is the answer to a request.
type answer struct {
	status              int
	body, code, message string
	kind                string // the error's type with its namespace
}

// answerOf reads an answer and fails the test unless it has DynamoDB's form.
func answerOf(t *testing.T, w *httptest.ResponseRecorder) answer {
	t.Helper()
	a := answer{status: w.Code, body: w.Body.String()}
	if id := w.Header().Get("X-Amzn-Requestid"); len(id) != 52 {
		t.Errorf("request id %q", id)
	}
	if a.status == http.StatusOK {
		return a
	}
	var fields struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &fields); err != nil {
		t.Fatalf("status %d, not JSON: %v: %s", w.Code, err, a.body)
	}
	_, a.code, _ = strings.Cut(fields.Type, "#")
	a.kind, a.message = fields.Type, fields.Message
	return a
}
