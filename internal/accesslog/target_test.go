package accesslog

import (
	"strings"
	"testing"
)

func TestSplitTarget(t *testing.T) {
	long := strings.Repeat("ä", MaxPath)
	for _, c := range []struct{ target, path, query string }{
		{"/", "/", ""},
		{"/a/b", "/a/b", ""},
		{"/a?b=c&d", "/a", "b=c&d"},
		{"/a?b?c", "/a", "b?c"},
		{"/a?b#c?d", "/a", "b"},
		{"/a#b?c", "/a", ""},
		{"/?", "/", ""},
		{"/#x", "/", ""},
		{"//a//b", "//a//b", ""},
		{"/a%20b", "/a%20b", ""},
		{"/go?to=http://x/y", "/go", "to=http://x/y"},
		{"http://example.com", "/", ""},
		{"http://example.com/", "/", ""},
		{"http://example.com:80/a?b", "/a", "b"},
		{"http://example.com?b", "/", "b"},
		{"http://example.com#b", "/", ""},
		{"example.com:443", "", ""},
		{"*", "", ""},
		{"", "", ""},
		{"?x=http://y/z", "", ""},
		{"/" + long, "/" + long[:MaxPath-2], ""},
		{"/?" + long + long + long, "/", long + long},
	} {
		path, query := SplitTarget(c.target)
		if path != c.path || query != c.query {
			t.Errorf("SplitTarget(%.60q) = %.60q, %.60q; want %.60q, %.60q", c.target, path, query, c.path, c.query)
		}
	}
}

func TestIsAsset(t *testing.T) {
	for _, path := range []string{
		"/a.css", "/js/app.min.js", "/app.mjs", "/app.js.map", "/x.PNG", "/x.JpEg", "/favicon.ico", "/f.woff2", "/v.mp4", "/site.webmanifest",
		"/robots.txt", "/sitemap.xml", "/sitemap-2.xml.gz", "/ads.txt", "/.well-known/security.txt", "/.well-known/acme-challenge/x",
	} {
		if !IsAsset(path) {
			t.Errorf("IsAsset(%q) = false, want true", path)
		}
	}
	for _, path := range []string{
		"", "/", "/css", "/a.css/", "/index.html", "/a.php", "/feed", "/feed.xml", "/atom.xml", "/rss", "/notes.txt", "/data.json",
		"/paper.pdf", "/release.tar.gz", "/release.zip", "/v1.2", "/images/", "/a.webmanifestx", "/.well-known", "/x.", "/jquery.js.html",
	} {
		if IsAsset(path) {
			t.Errorf("IsAsset(%q) = true, want false", path)
		}
	}
}
