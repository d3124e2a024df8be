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
	maxBody      = 16 << 20 // a request may not be larger
	maxDenied    = 64 << 10 // nor one that is refused for its headers, if it wants to be told what is wrong with its body
	firstRead    = 8 << 10  // a buffer grows from here with what arrives, not with what is announced
	keepCapacity = 1 << 20  // larger buffers are not kept for the next request
)

// bufferPool keeps buffers for the next request.
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

// isJSON says whether a content type is one in which the protocol is spoken.
func isJSON(contentType string) bool {
	switch contentType { // as SDKs write it
	case "application/x-amz-json-1.0", "application/x-amz-json-1.1", "application/json":
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media != contentType && isJSON(media)
}

// readBody reads a request's body into the buffer's memory, as far as there is room, and returns it. Of who is refused
// anyway little is read.
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

// writeBody writes an answer with its checksum.
func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone does not want its answer
}

// writePlain writes one of the few answers that are not JSON.
func writePlain(w http.ResponseWriter, status int, text string) {
	writeBody(w, status, "text/plain", []byte(text))
}

// writeUnknownPage answers what is not the protocol at all.
func writeUnknownPage(w http.ResponseWriter) {
	writePlain(w, http.StatusNotFound, "<UnknownOperationException/>\n")
}
