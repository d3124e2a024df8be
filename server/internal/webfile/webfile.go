// Package webfile sends files that do not change while the server runs: in the encoding that the browser likes best of
// those at hand, and not at all when the browser has them. It exists because the dashboard, the tracker and the documents of
// the API do the same; headers that say who may have a file, and for how long, are theirs. Only they use it.
package webfile

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
)

// File is one file in the encodings that there are of it. Make one with New.
type File struct {
	Text []byte // as it is

	contentType string
	tag         string
	encoded     []encoded // the best first
}

type encoded struct {
	coding string
	text   []byte
}

// New makes a file of its text.
func New(contentType string, text []byte) *File {
	sum := sha256.Sum256(text)
	return &File{Text: text, contentType: contentType, tag: base64.RawURLEncoding.EncodeToString(sum[:9])}
}

// Add adds the text in a content coding, such as "gzip". Those added first are preferred.
func (f *File) Add(coding string, text []byte) { f.encoded = append(f.encoded, encoded{coding, text}) }

// Encoded returns the text in a content coding, nil for none.
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
		_, _ = w.Write(text) // a client that went away needs nothing
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
