package dynamohttp_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo/dynamohttp"
)

// largeBody is a valid request that takes more than half of the memory limit of the handlers below.
var largeBody = `{"TableName":"Items"}` + strings.Repeat(" ", 10<<20)

// waiting is a backend whose PutItem waits until the test releases it. Each call passes the test a
// channel to close.
type waiting struct {
	backend
	begun chan chan struct{}
}

func newWaiting() waiting {
	w := waiting{begun: make(chan chan struct{})}
	w.put = func(context.Context) error {
		goOn := make(chan struct{})
		w.begun <- goOn
		<-goOn
		return nil
	}
	return w
}

// start sends a request and returns when the backend has it. finish releases the request and
// returns the answer.
func (w waiting) start(t *testing.T, h http.Handler, body string) (finish func() *httptest.ResponseRecorder) {
	t.Helper()
	answered := make(chan *httptest.ResponseRecorder, 1)
	go func() { answered <- do(h, post(putTarget, body)) }()
	select {
	case goOn := <-w.begun:
		return func() *httptest.ResponseRecorder {
			close(goOn)
			return <-answered
		}
	case early := <-answered:
		t.Fatalf("answered before it ran: %d %s", early.Code, early.Body)
	}
	return nil
}

// expectBusy fails the test unless the answer makes an SDK retry.
func expectBusy(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if a := answerOf(t, w); a.status != http.StatusServiceUnavailable || a.kind != "com.amazon.coral.availability#ServiceUnavailable" {
		t.Errorf("got %d %s, want that there is no room", a.status, a.body)
	}
}

func expectOK(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestTooManyRequests(t *testing.T) {
	b := newWaiting()
	var log bytes.Buffer
	handler := newHandler(t, b, dynamohttp.Options{MaxRequests: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	first, second := b.start(t, handler, `{}`), b.start(t, handler, `{}`)
	for range 3 { // refused requests must leave no trace
		expectBusy(t, do(handler, post(putTarget, `{}`)))
	}
	expectOK(t, first())
	third := b.start(t, handler, `{}`)
	expectOK(t, second())
	expectOK(t, third())
	if log.Len() > 0 {
		t.Errorf("a flood of requests floods the log: %s", &log)
	}
}

func TestTooManyBytes(t *testing.T) {
	b := newWaiting()
	handler := newHandler(t, b, dynamohttp.Options{MaxBytes: 16 << 20})
	first := b.start(t, handler, largeBody)
	expectBusy(t, do(handler, post(putTarget, largeBody)))
	small := b.start(t, handler, `{}`)
	expectOK(t, first())
	second := b.start(t, handler, largeBody)
	expectOK(t, small())
	expectOK(t, second())
}

// TestBytesAnnounced checks that an announced body that does not arrive blocks no other request.
func TestBytesAnnounced(t *testing.T) {
	b := newWaiting()
	handler := newHandler(t, b, dynamohttp.Options{MaxBytes: 16 << 20})
	body, sender := io.Pipe()
	r := post(putTarget, "")
	r.Body, r.ContentLength = body, 16<<20
	answered := make(chan *httptest.ResponseRecorder)
	go func() { answered <- do(handler, r) }()
	if _, err := sender.Write([]byte(`{`)); err != nil {
		t.Fatal(err)
	}
	expectOK(t, b.start(t, handler, largeBody)())
	if err := sender.Close(); err != nil {
		t.Fatal(err)
	}
	if a := answerOf(t, <-answered); a.code != "SerializationException" {
		t.Errorf("got %s", a.body)
	}
}

// large is a backend whose answer takes more than half of the memory limit of the handler below.
type large struct{ backend }

func (large) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: map[string]types.AttributeValue{"a": &types.AttributeValueMemberS{Value: strings.Repeat("x", 10<<20)}}}, nil
}

// slowReader is a client that reads its answer when the test tells it to.
type slowReader struct {
	*httptest.ResponseRecorder
	begun, goOn chan struct{}
}

func (s slowReader) Write(b []byte) (int, error) {
	s.begun <- struct{}{}
	<-s.goOn
	return s.ResponseRecorder.Write(b)
}

// TestAnswersAreHeld checks that an answer that the client does not read counts for as long as it
// is in memory.
func TestAnswersAreHeld(t *testing.T) {
	handler := newHandler(t, large{failing(nil)}, dynamohttp.Options{MaxBytes: 16 << 20})
	slow := slowReader{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), goOn: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		handler.ServeHTTP(slow, post("DynamoDB_20120810.GetItem", `{}`))
	}()
	<-slow.begun
	expectBusy(t, do(handler, post(putTarget, largeBody)))
	close(slow.goOn)
	<-done
	expectOK(t, slow.ResponseRecorder)
	expectOK(t, do(handler, post(putTarget, largeBody)))
}

// TestStrangers checks that the handler reads little of a request that was not signed with a known
// key.
func TestStrangers(t *testing.T) {
	handler := newHandler(t, failing(nil), dynamohttp.Options{Keys: map[string]string{testID: testSecret}})
	for name, authorization := range map[string]string{
		"MissingAuthenticationTokenException": "",
		"InvalidSignatureException":           post(putTarget, "").Header.Get("Authorization"), // signed long ago
	} {
		body := &endless{}
		r := post(putTarget, "")
		r.Header.Set("Authorization", authorization)
		r.Header.Set("X-Amz-Date", "20200101T000000Z")
		r.Body, r.ContentLength = io.NopCloser(body), -1
		if a := answerOf(t, do(handler, r)); a.code != name {
			t.Errorf("got %s, want %s", a.body, name)
		}
		if body.read > 1<<20 {
			t.Errorf("%s: read %d bytes", name, body.read)
		}
	}
}

func TestRoomForTheLargest(t *testing.T) {
	if _, err := dynamohttp.New(failing(nil), dynamohttp.Options{MaxBytes: 16<<20 - 1}); err == nil || !strings.Contains(err.Error(), "MaxBytes") {
		t.Errorf("got %v", err)
	}
}
