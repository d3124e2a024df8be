package dynamohttp_test

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/dynamo/dynamohttp"
)

const putTarget = "DynamoDB_20120810.PutItem"

// backend answers only PutItem, as a test specifies.
type backend struct {
	dynamohttp.Backend
	put func(context.Context) error
}

func (b backend) PutItem(ctx context.Context, _ *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := b.put(ctx); err != nil {
		return nil, err
	}
	return &dynamodb.PutItemOutput{}, nil
}

func failing(err error) backend { return backend{put: func(context.Context) error { return err }} }

// post returns a valid request for a handler that does not verify signatures.
func post(target, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://db.example:8000/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", target)
	r.Header.Set("X-Amz-Date", "20261120T120000Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=any/20261120/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any")
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestErrors(t *testing.T) {
	text := aws.String("told")
	for _, c := range []struct {
		name   string
		err    error
		status int
		body   string
	}{
		{"none", nil, 200, `{}`},
		{"validation", dynamo.Validation("told"), 400, `{"__type":"com.amazon.coral.validate#ValidationException","message":"told"}`},
		{"condition", &types.ConditionalCheckFailedException{Message: text}, 400,
			`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"told"}`},
		{"condition with item", &types.ConditionalCheckFailedException{Message: text, Item: map[string]types.AttributeValue{"a": &types.AttributeValueMemberN{Value: "1"}}}, 400,
			`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","Item":{"a":{"N":"1"}},"message":"told"}`},
		{"cancelled", &types.TransactionCanceledException{Message: text, CancellationReasons: []types.CancellationReason{
			{Code: aws.String("None")}, {Code: aws.String("ConditionalCheckFailed"), Message: text, Item: map[string]types.AttributeValue{"a": &types.AttributeValueMemberS{Value: "x"}}},
		}}, 400, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[{"Code":"None"},` +
			`{"Code":"ConditionalCheckFailed","Item":{"a":{"S":"x"}},"Message":"told"}],"Message":"told"}`},
		{"wrapped", errors.Join(&types.ResourceNotFoundException{Message: text}), 400,
			`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"told"}`},
		{"throughput", &types.ProvisionedThroughputExceededException{Message: text}, 400,
			`{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"told"}`},
		{"throttled", &smithy.GenericAPIError{Code: "ThrottlingException", Message: "told"}, 400,
			`{"__type":"com.amazon.coral.availability#ThrottlingException","message":"told"}`},
		{"denied", &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "told"}, 400,
			`{"__type":"com.amazon.coral.service#AccessDeniedException","message":"told"}`},
		{"server", &types.InternalServerError{Message: text}, 500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"told"}`},
		{"no API error", errors.New("secret: pk=alice"), 500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"}`},
		{"too slow", context.DeadlineExceeded, 500, `{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"The operation took too long and was given up"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := do(newHandler(t, failing(c.err), dynamohttp.Options{}), post(putTarget, `{}`))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("got %d %s\nwant %d %s", w.Code, w.Body, c.status, c.body)
			}
			sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE(w.Body.Bytes())), 10)
			if w.Header().Get("X-Amz-Crc32") != sum || w.Header().Get("Content-Type") != "application/x-amz-json-1.0" || len(w.Header().Get("X-Amzn-Requestid")) != 52 {
				t.Errorf("headers %v", w.Header())
			}
		})
	}
}

func TestProtocol(t *testing.T) {
	handler := newHandler(t, open(t), dynamohttp.Options{Region: "eu-central-1"})
	const list, unknown = "DynamoDB_20120810.ListTables", `{"__type":"com.amazon.coral.service#UnknownOperationException"}`
	const syntax, page = `{"__type":"com.amazon.coral.service#SerializationException"}`, "<UnknownOperationException/>\n"
	changed := func(r *http.Request, change func(*http.Request)) *http.Request {
		change(r)
		return r
	}
	for _, c := range []struct {
		name   string
		r      *http.Request
		status int
		body   string
	}{
		{"health", httptest.NewRequest("GET", "/", nil), 200, "healthy: dynamodb.eu-central-1.amazonaws.com "},
		{"another page", httptest.NewRequest("GET", "/shell", nil), 404, page},
		{"another method", httptest.NewRequest("PUT", "/", nil), 404, page},
		{"another path", httptest.NewRequest("POST", "/v1", nil), 404, page},
		{"form", changed(post(list, "a=b"), func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }), 404, page},
		{"character set", changed(post(list, "{}"), func(r *http.Request) { r.Header.Set("Content-Type", "application/x-amz-json-1.0; charset=utf-8") }), 200, `{"TableNames":[]}`},
		{"version 1.1", changed(post(list, "{}"), func(r *http.Request) { r.Header.Set("Content-Type", "application/x-amz-json-1.1") }), 200, `{"TableNames":[]}`},
		{"no target", post("", "{}"), 400, unknown},
		{"unknown operation", post("DynamoDB_20120810.MakeCoffee", "{}"), 400, `{"__type":"com.amazon.coral.service#UnknownOperationException","message":"The operation MakeCoffee is not available here"}`},
		{"unknown version", post("DynamoDB_20111205.ListTables", "{}"), 400, unknown},
		{"operation of the other API", post("DynamoDBStreams_20120810.ListTables", "{}"), 400, `{"__type":"com.amazon.coral.service#UnknownOperationException","message":"The operation ListTables is not available here"}`},
		{"streams", post("DynamoDBStreams_20120810.ListStreams", "{}"), 200, `{"Streams":[]}`},
		{"no body", post(list, ""), 400, syntax},
		{"no JSON", post(list, "{"), 400, syntax},
		{"no JSON of an unknown operation", post("x", "{"), 400, syntax},
		{"no JSON unsigned", changed(post(list, "{"), func(r *http.Request) { r.Header.Del("Authorization") }), 400, syntax},
		{"unsigned", changed(post(list, "{}"), func(r *http.Request) { r.Header.Del("Authorization") }), 400,
			`{"__type":"com.amazon.coral.service#MissingAuthenticationTokenException","message":"Request is missing Authentication Token"}`},
		{"wrong type", post(list, `{"Limit":"1"}`), 400, `{"__type":"com.amazon.coral.service#SerializationException","Message":"STRING_VALUE cannot be converted to Integer"}`},
		{"several types", post(putTarget, `{"TableName":"Nowhere","Item":{"a":{"S":"x","N":"1"}}}`), 400, `{"__type":"com.amazon.coral.validate#ValidationException",` +
			`"message":"Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"}`},
		{"no type", post(putTarget, `{"TableName":"Nowhere","Item":{"b":{"S":"x"},"a":{}}}`), 400, `{"__type":"com.amazon.coral.validate#ValidationException",` +
			`"message":"Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"}`},
		{"compressed", changed(post(list, "{}"), func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }), 400,
			`{"__type":"com.amazon.coral.service#SerializationException","Message":"Content-Encoding \"gzip\" is not supported; send the body as it is"}`},
		{"endpoint", post("DynamoDB_20120810.DescribeEndpoints", "{}"), 200, `{"Endpoints":[{"Address":"db.example:8000","CachePeriodInMinutes":1440}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if w := do(handler, c.r); w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("got %d %s\nwant %d %s", w.Code, w.Body, c.status, c.body)
			}
		})
	}
}

// TestCountsOfNothing checks that counts are returned even when they are zero.
func TestCountsOfNothing(t *testing.T) {
	handler := newHandler(t, open(t), dynamohttp.Options{})
	create := `{"TableName":"Items","BillingMode":"PAY_PER_REQUEST","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]}`
	for _, c := range [][3]string{
		{"CreateTable", create, ""}, {"Scan", `{"TableName":"Items"}`, `{"Count":0,"ScannedCount":0,"Items":[]}`},
		{"Query", `{"TableName":"Items","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`, `{"Count":0,"ScannedCount":0,"Items":[]}`},
	} {
		w := do(handler, post("DynamoDB_20120810."+c[0], c[1]))
		if w.Code != http.StatusOK || c[2] != "" && w.Body.String() != c[2] {
			t.Errorf("%s: got %d %s, want %s", c[0], w.Code, w.Body, c[2])
		}
	}
}

// endless is a body that never ends.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	return len(b), nil
}

func TestTooLarge(t *testing.T) {
	handler := newHandler(t, open(t), dynamohttp.Options{})
	body := &endless{}
	streamed := post(putTarget, "")
	streamed.Body, streamed.ContentLength = io.NopCloser(body), -1
	announced := post(putTarget, "{}")
	announced.ContentLength = 16<<20 + 1
	for name, r := range map[string]*http.Request{"streamed": streamed, "announced": announced} {
		if w := do(handler, r); w.Code != http.StatusRequestEntityTooLarge || w.Body.Len() != 0 {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
	if body.read > 32<<20 {
		t.Errorf("read %d bytes of a body that may have 16 MB", body.read)
	}
	fits := post(putTarget, `{"TableName":"Nowhere","Item":{}}`+strings.Repeat(" ", 16<<20-33))
	if w := do(handler, fits); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "ResourceNotFoundException") {
		t.Errorf("16 MB: got %d %s", w.Code, w.Body)
	}
	broken := post(putTarget, "")
	broken.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{}`), errorReader{}))
	if a := answerOf(t, do(handler, broken)); a.code != "SerializationException" {
		t.Errorf("broken off: got %s", a.body)
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestInternalErrors checks that an internal error is logged with the request's ID and is not shown
// to the client.
func TestInternalErrors(t *testing.T) {
	for name, put := range map[string]func(context.Context) error{
		"error": func(context.Context) error { return errors.New("disk on fire") },
		"panic": func(context.Context) error { panic("disk on fire") },
		"slow": func(ctx context.Context) error {
			<-ctx.Done()
			return errors.Join(errors.New("disk on fire"), ctx.Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			registry := prometheus.NewRegistry()
			handler := newHandler(t, backend{put: put}, dynamohttp.Options{Registry: registry, Timeout: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			w := do(handler, post(putTarget, `{"TableName":"Secrets"}`))
			if a := answerOf(t, w); a.status != http.StatusInternalServerError || a.code != "InternalServerError" || strings.Contains(a.body, "fire") {
				t.Errorf("got %d %s", a.status, a.body)
			}
			if told := log.String(); !strings.Contains(told, "disk on fire") || !strings.Contains(told, w.Header().Get("X-Amzn-Requestid")) || strings.Contains(told, "Secrets") {
				t.Errorf("logged %s", told)
			}
			metrics := do(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), httptest.NewRequest("GET", "/metrics", nil)).Body.String()
			if want := map[bool]string{true: "onefold_dynamodb_panics_total 1\n", false: "onefold_dynamodb_panics_total 0\n"}[name == "panic"]; !strings.Contains(metrics, want) {
				t.Errorf("metrics do not say %s", want)
			}
		})
	}
}

func TestPages(t *testing.T) {
	for _, c := range []struct {
		name, origin string
		o            dynamohttp.Options
		allowed      bool
	}{
		{"on this machine", "http://localhost:5173", dynamohttp.Options{}, true},
		{"by address", "http://127.0.0.1:3000", dynamohttp.Options{}, true},
		{"by IPv6 address", "http://[::1]:3000", dynamohttp.Options{}, true},
		{"elsewhere", "https://example.org", dynamohttp.Options{}, false},
		{"looks local", "https://localhost.example.org", dynamohttp.Options{}, false},
		{"sandboxed", "null", dynamohttp.Options{}, false},
		{"named", "https://example.org", dynamohttp.Options{Origins: []string{"https://example.org"}}, true},
		{"elsewhere, with keys", "https://example.org", dynamohttp.Options{Keys: map[string]string{testID: testSecret}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			handler := newHandler(t, open(t), c.o)
			preflight := httptest.NewRequest(http.MethodOptions, "/", nil)
			preflight.Header.Set("Origin", c.origin)
			preflight.Header.Set("Access-Control-Request-Method", "POST")
			preflight.Header.Set("Access-Control-Request-Headers", "authorization,content-type,x-amz-date,x-amz-target")
			call := post("DynamoDB_20120810.ListTables", "{}")
			call.Header.Set("Origin", c.origin)
			for _, w := range []*httptest.ResponseRecorder{do(handler, preflight), do(handler, call)} {
				if got := w.Header().Get("Access-Control-Allow-Origin"); (got == c.origin) != c.allowed || !c.allowed && got != "" {
					t.Errorf("allowed for %q", got)
				}
				if exposed := w.Header().Get("Access-Control-Expose-Headers"); c.allowed && !strings.Contains(exposed, "x-amz-crc32") {
					t.Errorf("exposed: %q", exposed)
				}
			}
			if w := do(handler, call.Clone(t.Context())); strings.Contains(w.Body.String(), "AccessDeniedException") == c.allowed {
				t.Errorf("answered %s", w.Body)
			}
			if got := do(handler, preflight).Header().Get("Access-Control-Allow-Headers"); c.allowed != strings.Contains(got, "x-amz-target") {
				t.Errorf("headers allowed: %q", got)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	handler := newHandler(t, open(t), dynamohttp.Options{Registry: registry})
	do(handler, post("DynamoDB_20120810.ListTables", "{}"))
	do(handler, post("DynamoDB_20120810.ListTables", "{}"))
	do(handler, post("DynamoDB_20120810.ListTables", `[]`))
	do(handler, post("DynamoDB_20120810.Attack-1", "{}"))
	do(handler, post("DynamoDB_20120810.Attack-2", "{}"))
	told := do(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), httptest.NewRequest("GET", "/metrics", nil)).Body.String()
	for _, want := range []string{
		`onefold_dynamodb_requests_total{code="OK",operation="ListTables"} 2`,
		`onefold_dynamodb_requests_total{code="SerializationException",operation="ListTables"} 1`,
		`onefold_dynamodb_requests_total{code="UnknownOperationException",operation="unknown"} 2`,
		`onefold_dynamodb_request_seconds_count{operation="ListTables"} 3`,
		`onefold_dynamodb_requests_in_flight 0`, `onefold_dynamodb_request_bytes_total 10`,
	} {
		if !strings.Contains(told, want+"\n") {
			t.Errorf("not told: %s", want)
		}
	}
	if strings.Contains(told, "Attack") {
		t.Error("a label holds what a client chose")
	}
	if _, err := dynamohttp.New(open(t), dynamohttp.Options{Registry: registry}); err == nil {
		t.Error("two handlers share the metrics of one registry")
	}
}

// TestOffers checks that optional operations are served if the backend has them.
func TestOffers(t *testing.T) {
	plain := newHandler(t, backend{}, dynamohttp.Options{})
	offering := newHandler(t, struct {
		dynamohttp.Backend
		dynamo.Limits
	}{Limits: limits{}}, dynamohttp.Options{})
	target := "DynamoDB_20120810.DescribeLimits"
	if a := answerOf(t, do(plain, post(target, "{}"))); a.code != "UnknownOperationException" {
		t.Errorf("without: %s", a.body)
	}
	if w := do(offering, post(target, "{}")); w.Body.String() != `{"AccountMaxReadCapacityUnits":80000}` {
		t.Errorf("with: %s", w.Body)
	}
}

type limits struct{}

func (limits) DescribeLimits(context.Context, *dynamodb.DescribeLimitsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeLimitsOutput, error) {
	return &dynamodb.DescribeLimitsOutput{AccountMaxReadCapacityUnits: aws.Int64(80000)}, nil
}

func TestOriginsAreChecked(t *testing.T) {
	for origin, ok := range map[string]bool{
		"https://example.org": true, "http://box.lan:5173": true, "http://[::1]:3000": true,
		"": false, "*": false, "https://*.example.org": false, "example.org": false, "https://example.org/": false, "https://example.org/page": false,
		"ftp://example.org": false, "https://": false, "null": false, "https://user@example.org": false,
	} {
		if err := dynamohttp.CheckOrigin(origin); ok != (err == nil) {
			t.Errorf("%q: %v", origin, err)
		}
		if _, err := dynamohttp.New(failing(nil), dynamohttp.Options{Origins: []string{origin}}); ok != (err == nil) {
			t.Errorf("a handler for %q: %v", origin, err)
		}
	}
}
