// Package tracker holds the scripts that run in the pages of measured sites, and serves them. They are built by
// `make web` (see package.json); the sources are plain scripts as well, so a binary that was built without Node.js serves
// those. Only server uses it.
package tracker

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"

	"github.com/onefold/onefold/server/internal/webfile"
)

// dist holds but a README until the scripts are built.
//
//go:embed src/*.js dist
var files embed.FS

// Script is one script, ready to be sent.
type Script struct {
	Built bool // false: the source as it is, because nothing was built
	file  *webfile.File
}

// The scripts: Main is what a page includes, Vitals what Main loads for pages that ask for web vitals.
const (
	Main   = "onefold.js"
	Vitals = "onefold.vitals.js"
)

// Load reads the script of that name, Main or Vitals.
func Load(name string) (*Script, error) {
	text, err := files.ReadFile(path.Join("dist", name))
	built := !errors.Is(err, fs.ErrNotExist)
	if !built {
		text, err = files.ReadFile(path.Join("src", name))
	}
	if err != nil {
		return nil, fmt.Errorf("tracker: load %s: %w", name, err)
	}
	zipped, err := zip(text)
	if err != nil {
		return nil, fmt.Errorf("tracker: load %s: %w", name, err)
	}
	s := &Script{Built: built, file: webfile.New("text/javascript; charset=utf-8", text)}
	s.file.Add("gzip", zipped)
	return s, nil
}

func zip(text []byte) ([]byte, error) {
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
	return zipped.Bytes(), nil
}

// ServeHTTP sends the script, to pages of any origin. Browsers keep it for an hour and then ask whether it changed.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	s.file.ServeHTTP(w, r)
}
