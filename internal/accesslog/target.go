package accesslog

import (
	"strings"
	"unicode/utf8"
)

const (
	// MaxPath is the length in bytes at which SplitTarget cuts a path.
	MaxPath = 1024
	// MaxQuery is the length in bytes at which SplitTarget cuts a query.
	MaxQuery = 4096
)

// SplitTarget splits a request target into its path and its query (without the question mark). The
// fragment is dropped, and an absolute URI is reduced to its path. Targets without a path, such as
// those of CONNECT and of "OPTIONS *", get an empty one. Nothing is decoded or otherwise
// normalised, but both parts are cut at MaxPath and MaxQuery.
func SplitTarget(target string) (path, query string) {
	if !strings.HasPrefix(target, "/") {
		scheme, rest, found := strings.Cut(target, "://")
		if !found || strings.ContainsAny(scheme, "/?#") {
			return "", ""
		}
		start := strings.IndexAny(rest, "/?#")
		if start < 0 {
			return "/", ""
		}
		target = rest[start:]
	}
	if i := strings.IndexByte(target, '#'); i >= 0 {
		target = target[:i]
	}
	path, query, _ = strings.Cut(target, "?")
	if path == "" {
		path = "/"
	}
	return cut(path, MaxPath), cut(query, MaxQuery)
}

// cut returns at most limit bytes of s, and never splits a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// IsAsset reports whether a path (from SplitTarget) is something that a page or a machine fetches
// by itself, rather than something that a person asked to see:
//
//   - styles, scripts, source maps, images, icons, fonts, audio, video and their playlists, by their extension;
//   - the files that only machines request: robots.txt, sitemaps, ads.txt and the like, and all of /.well-known/.
//
// Not assets: documents and archives (pdf, zip, …), which are downloads that somebody wanted; txt,
// xml and json in general; feeds, whose readers are detected by their user agent; and paths with
// any other extension or none.
func IsAsset(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && isAssetExtension(name[dot+1:]) {
		return true
	}
	return isMachineFile(path, name)
}

func isAssetExtension(extension string) bool {
	if len(extension) > maxExtension {
		return false
	}
	var lower [maxExtension]byte
	for i := range len(extension) {
		c := extension[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	switch string(lower[:len(extension)]) {
	case "css", "js", "mjs", "map", "wasm", "webmanifest",
		"png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico", "cur", "bmp", "tif", "tiff", "apng", "heic",
		"woff", "woff2", "ttf", "otf", "eot",
		"mp3", "mp4", "m4a", "m4v", "webm", "ogg", "oga", "ogv", "wav", "flac", "aac", "mov", "avi", "mkv", "flv",
		"swf", "m3u8", "mpd", "ts", "vtt":
		return true
	}
	return false
}

// maxExtension is the length of the longest extension of an asset, "webmanifest".
const maxExtension = 11

func isMachineFile(path, name string) bool {
	if strings.HasPrefix(path, "/.well-known/") {
		return true
	}
	switch name {
	case "robots.txt", "ads.txt", "app-ads.txt", "humans.txt", "security.txt", "llms.txt",
		"crossdomain.xml", "clientaccesspolicy.xml", "browserconfig.xml", "wlwmanifest.xml":
		return true
	}
	return strings.HasPrefix(name, "sitemap") && (strings.HasSuffix(name, ".xml") || strings.HasSuffix(name, ".xml.gz"))
}
