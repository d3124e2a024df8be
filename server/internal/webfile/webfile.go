// Package webfile serves files that do not change while the server runs. It chooses the best
// encoding that the browser accepts, and answers 304 if the browser has the file. Callers set the
// headers for access and caching.
package webfile

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

// File is a file in several encodings. Create one with New.
type File struct {
	Text []byte // without encoding

	contentType string
	tag         string
	encoded     []encoded // best first
}

type encoded struct {
	coding string
	text   []byte
}

// New creates a file without encodings.
func New(contentType string, text []byte) *File {
	sum := sha256.Sum256(text)
	return &File{Text: text, contentType: contentType, tag: base64.RawURLEncoding.EncodeToString(sum[:9])}
}

// Gzipped creates a file that is also served with gzip, compressed once.
func Gzipped(contentType string, text []byte) (*File, error) {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	f := New(contentType, text)
	f.Add("gzip", zipped.Bytes())
	return f, nil
}

// Add adds the file in a content coding, such as "gzip". Codings added first are preferred.
func (f *File) Add(coding string, text []byte) { f.encoded = append(f.encoded, encoded{coding, text}) }

// Encoded returns the file in a content coding, or nil.
func (f *File) Encoded(coding string) []byte {
	for _, e := range f.encoded {
		if e.coding == coding {
			return e.text
		}
	}
	return nil
}

// ServeHTTP sends the file.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Vary", "Accept-Encoding")
	text, tag, coding := f.Text, f.tag, ""
	for _, e := range f.encoded {
		if accepts(r, e.coding) {
			text, tag, coding = e.text, f.tag+"-"+e.coding, e.coding
			break
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	if strings.Contains(r.Header.Get("If-None-Match"), `"`+tag+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if coding != "" {
		h.Set("Content-Encoding", coding)
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // the client may be gone; ignore the error
	}
}

func accepts(r *http.Request, coding string) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name == coding && strings.ReplaceAll(weight, " ", "") != "q=0" {
			return true
		}
	}
	return false
}
