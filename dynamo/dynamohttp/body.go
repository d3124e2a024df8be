package dynamohttp

import (
	"errors"
	"hash/crc32"
	"io"
	"mime"
	"net/http"
	"strconv"
	"sync"
)

const (
	maxBody      = 16 << 20 // maximum size of a request
	maxDenied    = 64 << 10 // maximum size of a request rejected for its headers, for which errors in the body are still reported
	firstRead    = 8 << 10  // initial buffer size; buffers grow with the bytes received, not with the announced length
	keepCapacity = 1 << 20  // larger buffers are not reused
)

// bufferPool keeps buffers for later requests.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, firstRead)
	return &b
}

func (p *bufferPool) put(b *[]byte) {
	if cap(*b) <= keepCapacity {
		*b = (*b)[:0]
		p.pool.Put(b)
	}
}

// isJSON reports whether a content type is one of the protocol.
func isJSON(contentType string) bool {
	switch contentType { // as written by SDKs
	case "application/x-amz-json-1.0", "application/x-amz-json-1.1", "application/json":
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media != contentType && isJSON(media)
}

// readBody reads a request's body into the buffer, within the limit of memory, and returns it. For
// rejected callers it reads only a little.
func (c *caller) readBody(buffer *[]byte, r *http.Request, holds *held) ([]byte, error) {
	if c.denied == nil {
		return readBody(buffer, r, maxBody, holds)
	}
	body, err := readBody(buffer, r, maxDenied, holds)
	if errors.Is(err, errTooLarge) {
		err = c.denied
	}
	return body, err
}

func readBody(buffer *[]byte, r *http.Request, most int64, holds *held) ([]byte, error) {
	body := (*buffer)[:0]
	if r.ContentLength > most {
		return body, errTooLarge
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return body, serialization("Content-Encoding " + strconv.Quote(encoding) + " is not supported; send the body as it is")
	}
	if r.Body == nil {
		return body, nil
	}
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		busy := holds.take(n)
		switch {
		case int64(len(body)) > most:
			return body, errTooLarge
		case busy != nil:
			return body, busy
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return body, serialization("the body ends before its length")
		}
	}
}

// writeBody writes a response with its checksum.
func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	w.WriteHeader(status)
	_, _ = w.Write(body) // ignore errors: the client may have disconnected
}

// writePlain writes a response in plain text.
func writePlain(w http.ResponseWriter, status int, text string) {
	writeBody(w, status, "text/plain", []byte(text))
}

// writeUnknownPage responds to a request that is not part of the protocol.
func writeUnknownPage(w http.ResponseWriter) {
	writePlain(w, http.StatusNotFound, "<UnknownOperationException/>\n")
}
