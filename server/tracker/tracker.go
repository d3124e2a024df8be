// Package tracker holds the scripts that run in the pages of measured sites, and serves them. They are built by
// `make web` (see package.json); the sources are plain scripts as well, so a binary that was built without Node.js serves
// those. Only server uses it.
package tracker

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// dist holds but a README until the scripts are built.
//
//go:embed src/*.js dist
var files embed.FS

// Script is one script, ready to be sent.
type Script struct {
	Text   []byte
	Zipped []byte // Text, gzipped
	Built  bool   // false: the source as it is, because nothing was built
	tag    string
}

// The scripts: Main is what a page includes, Vitals what Main loads for pages that ask for web vitals.
const (
	Main   = "onefold.js"
	Vitals = "onefold.vitals.js"
)

// Load reads the script of that name, Main or Vitals.
func Load(name string) (*Script, error) {
	s := &Script{Built: true}
	var err error
	s.Text, err = files.ReadFile(path.Join("dist", name))
	if errors.Is(err, fs.ErrNotExist) {
		s.Built = false
		s.Text, err = files.ReadFile(path.Join("src", name))
	}
	if err != nil {
		return nil, fmt.Errorf("tracker: load %s: %w", name, err)
	}
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("tracker: load %s: %w", name, err)
	}
	if _, err := w.Write(s.Text); err != nil {
		return nil, fmt.Errorf("tracker: load %s: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("tracker: load %s: %w", name, err)
	}
	s.Zipped = zipped.Bytes()
	sum := sha256.Sum256(s.Text)
	s.tag = base64.RawURLEncoding.EncodeToString(sum[:9])
	return s, nil
}

// ServeHTTP sends the script, to pages of any origin. Browsers keep it for an hour and then ask whether it changed.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Vary", "Accept-Encoding")
	text, tag := s.Text, s.tag
	if acceptsGzip(r) {
		text, tag = s.Zipped, s.tag+"-gz"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+tag+`"`)
	if strings.Contains(r.Header.Get("If-None-Match"), `"`+tag+`"`) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", fmt.Sprint(len(text)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(text) // a client that went away needs nothing
}

func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if name == "gzip" && strings.ReplaceAll(weight, " ", "") != "q=0" {
			return true
		}
	}
	return false
}
