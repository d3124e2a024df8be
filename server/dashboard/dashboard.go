// Package dashboard holds the page that shows statistics, and serves it. The page is a Vite project in this folder; it
// speaks to nothing but the HTTP API. Only server uses it.
package dashboard

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/onefold/onefold/server/internal/webfile"
)

// dist holds but a README until the page is built.
//
//go:embed dist
var dist embed.FS

// Page serves the page and what it loads. It is the page for every path that is not a file of it, because paths are
// read in the browser.
type Page struct {
	files map[string]*webfile.File // by path, "/assets/index-1a2b.js"; empty when the page was not built
}

// codings are the encodings that the build leaves beside a file, the best first.
var codings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

const index = "/index.html"

// Load reads the page that was built into the binary.
func Load() (*Page, error) {
	built, err := fs.Sub(dist, "dist/web")
	if err != nil {
		return nil, fmt.Errorf("dashboard: load: %w", err)
	}
	return load(built)
}

func load(built fs.FS) (*Page, error) {
	p := &Page{files: map[string]*webfile.File{}}
	err := fs.WalkDir(built, ".", func(name string, d fs.DirEntry, err error) error {
		if name == "." && errors.Is(err, fs.ErrNotExist) {
			return fs.SkipAll // not built
		}
		if err != nil || d.IsDir() || path.Ext(name) == ".br" || path.Ext(name) == ".gz" {
			return err
		}
		p.files["/"+name], err = readFile(built, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dashboard: load: %w", err)
	}
	return p, nil
}

func readFile(built fs.FS, name string) (*webfile.File, error) {
	text, err := fs.ReadFile(built, name)
	if err != nil {
		return nil, err
	}
	f := webfile.New(cmp.Or(mime.TypeByExtension(path.Ext(name)), "application/octet-stream"), text)
	for _, c := range codings {
		switch text, err := fs.ReadFile(built, name+c.suffix); {
		case err == nil:
			f.Add(c.name, text)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return f, nil
}

// Built reports whether the binary holds the page.
func (p *Page) Built() bool { return p.files[index] != nil }

// notBuilt is what a binary without the page answers.
const notBuilt = "This binary was built without the dashboard. Build it with `make build`, which needs Node.js 20 or newer.\nThe statistics are in the API, described at /openapi.json.\n"

// assets is where the files are whose names change with their content.
const assets = "/assets/"

// ServeHTTP sends a file, or the page.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch f := p.files[r.URL.Path]; {
	case !p.Built():
		http.Error(w, notBuilt, http.StatusNotFound)
	case f != nil && strings.HasPrefix(r.URL.Path, assets):
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		f.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, assets):
		http.Error(w, "There is no such file. The page was renewed; load it again.", http.StatusNotFound)
	default:
		w.Header().Set("Cache-Control", "no-cache")
		p.files[index].ServeHTTP(w, r)
	}
}
