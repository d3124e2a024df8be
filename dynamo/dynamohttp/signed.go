package dynamohttp

import (
	"bytes"
	"io"
	"net/http"
)

// Signed returns a handler that passes requests to next if their sender may use the Handler. It is
// for endpoints besides DynamoDB's operations. Requests must be signed for the service "dynamodb"
// and the Handler's Region, over their method, path, query and body. With Keys the signature is
// verified, otherwise only parsed. A body may have at most 64 KiB. Errors have the form of the
// Handler's; rejected requests never reach next.
func (h *Handler) Signed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := h.bodyOfSigned(r)
		if err != nil {
			w.Header().Set("X-Amzn-Requestid", newRequestID())
			w.Header().Set("Connection", "close") // the body was not read completely
			if status := statusOf(err); status == http.StatusRequestEntityTooLarge {
				w.WriteHeader(status)
			} else {
				writeBody(w, status, "application/x-amz-json-1.0", appendError(nil, err))
			}
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// bodyOfSigned reads the body of a request and verifies its signature. It counts the request
// towards the Handler's limits.
func (h *Handler) bodyOfSigned(r *http.Request) ([]byte, error) {
	holds, err := h.load.enter()
	defer holds.leave()
	if err != nil {
		return nil, err
	}
	from := h.callerOf(r, "Host")
	if from.denied != nil {
		return nil, from.denied
	}
	var buffer []byte
	body, err := readBody(&buffer, r, maxDenied, &holds)
	if err != nil {
		return nil, err
	}
	return body, from.verify(r, body)
}
