package dynamohttp

import (
	"bytes"
	"io"
	"net/http"
)

// Signed is next for those who may call the Handler: for what a server answers beside DynamoDB's operations. Requests are
// signed as those are, for the service "dynamodb" and the Handler's Region, over their own method, path, query and body.
// With Keys the signature is verified, without it is only read. A body has at most 64 KiB. Errors are answered as the
// Handler answers them; what is refused never reaches next.
func (h *Handler) Signed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := h.bodyOfSigned(r)
		if err != nil {
			w.Header().Set("X-Amzn-Requestid", newRequestID())
			w.Header().Set("Connection", "close") // the body is not read, or not to its end
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

// bodyOfSigned reads the body of a request, which counts as one of the Handler's meanwhile, and verifies its signature.
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
