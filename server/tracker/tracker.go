// Package tracker embeds and serves the scripts that run in the pages of measured sites. `make web`
// builds them (see package.json). A binary that was built without Node.js serves the sources, of
// which core.js is a module for the sake of the npm package in server/clients/tracker.
package tracker

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/onefold/onefold/server/internal/webfile"
)

// dist has only a README until the scripts are built.
//
//go:embed src/*.js dist
var files embed.FS

// Script is a script ready to be served.
type Script struct {
	Built bool // false: the source, because the scripts were not built
	file  *webfile.File
}

// Main is the script that pages include.
const Main = "onefold.js"

// Further returns the name of a script that Main loads, named as Main is, with one of Parts.
func Further(main, part string) string { return strings.TrimSuffix(main, ".js") + "." + part + ".js" }

// Parts are the scripts that Main loads: vitals in pages that ask for web vitals, check in pages that
// are opened to check the installation.
var Parts = []string{"vitals", "check"}

// Load reads Main or one of the further scripts.
func Load(name string) (*Script, error) {
	text, err := files.ReadFile(path.Join("dist", name))
	built := !errors.Is(err, fs.ErrNotExist)
	if !built {
		text, err = source(name)
	}
	if err != nil {
		return nil, fmt.Errorf("tracker: load %s: %w", name, err)
	}
	file, err := webfile.Gzipped("text/javascript; charset=utf-8", text)
	if err != nil {
		return nil, fmt.Errorf("tracker: load %s: %w", name, err)
	}
	return &Script{Built: built, file: file}, nil
}

// source returns a script that was not built.
func source(name string) ([]byte, error) {
	text, err := files.ReadFile(path.Join("src", name))
	if err != nil || name != Main {
		return text, err
	}
	core, err := files.ReadFile("src/core.js")
	return joined(core, text), err
}

// joined makes a plain script of the core and the main script: the core without its export, and the
// main script without the line that imports it.
func joined(core, main []byte) []byte {
	core = bytes.Replace(core, []byte("\nexport const "), []byte("\nconst "), 1)
	_, main, _ = bytes.Cut(main, []byte("\n"))
	return slices.Concat([]byte("(() => {\n"), core, main, []byte("})()\n"))
}

// ServeHTTP serves the script, to pages of any origin. Browsers cache it for an hour and then
// revalidate.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	s.file.ServeHTTP(w, r)
}
