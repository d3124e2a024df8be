package dynamohttp_test

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onefold/onefold/dynamo/dynamohttp"
)

// BenchmarkPutItem measures the cost of the protocol without a socket and without an engine.
func BenchmarkPutItem(b *testing.B) {
	handler := newHandler(b, backend{put: func(context.Context) error { return nil }}, dynamohttp.Options{})
	text := `{"TableName":"Items","Item":{"pk":{"S":"user#1"},"sk":{"S":"order#2"},"n":{"N":"12"},"v":{"S":"` + strings.Repeat("x", 240) + `"}}}`
	body := strings.NewReader(text)
	r := post(putTarget, "")
	r.Body, r.ContentLength = io.NopCloser(body), body.Size()
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(text)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
}
