// Package dashboard embeds and serves the web dashboard. The dashboard is a Vite project in this
// directory, and uses only the HTTP API.
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
	"slices"
	"strings"

	"github.com/onefold/onefold/server/internal/webfile"
)

// dist has only a README until the dashboard is built.
//
//go:embed dist
var dist embed.FS

// Page serves the dashboard's page and its files. Every path that is not a file gets the page,
// whose script interprets the path.
type Page struct {
	files map[string]*webfile.File // by path, such as "/assets/index-1a2b.js"; empty if the dashboard was not built
}

// codings are the content codings that the build stores alongside a file, best first.
var codings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

const index = "/index.html"

// Load reads the dashboard that was built into the binary.
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
			return fs.SkipAll // the dashboard was not built
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

// pages are the first segments of the paths that the dashboard's script knows.
var pages = []string{
	"", "account", "correlations", "events", "fleets", "heat", "invite", "login", "new-site", "projections", "reset", "setup", "share", "sites", "subscriptions",
}

// IsPage reports whether the dashboard has a page at a path. The page may still be about something
// that does not exist, such as an unknown site, which only the script finds out.
func IsPage(path string) bool { return slices.Contains(pages, FirstSegment(path)) }

// Has reports whether there is a file or page at a path. Every file of assets counts as existing:
// ServeHTTP explains which are gone.
func (p *Page) Has(path string) bool {
	return p.files[path] != nil || strings.HasPrefix(path, assets) || IsPage(path)
}

// FirstSegment returns the first segment of a path, "" for the root.
func FirstSegment(path string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(path, "/"), "/")
	return first
}

// Built reports whether the binary has the dashboard.
func (p *Page) Built() bool { return p.files[index] != nil }

// notBuilt is the response of a binary without the dashboard.
const notBuilt = "This binary was built without the dashboard. Build it with `make build`, which needs Node.js 20 or newer.\nThe API has the same statistics; see /openapi.json.\n"

// assets is the directory of files whose names change with their content.
const assets = "/assets/"

// ServeHTTP serves a file, or the page.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch f := p.files[r.URL.Path]; {
	case !p.Built():
		http.Error(w, notBuilt, http.StatusNotFound)
	case f != nil && strings.HasPrefix(r.URL.Path, assets):
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		f.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, assets):
		http.Error(w, "There is no such file. The dashboard was updated; reload the page.", http.StatusNotFound)
	default:
		w.Header().Set("Cache-Control", "no-cache")
		p.files[index].ServeHTTP(w, r)
	}
}
