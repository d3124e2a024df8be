package accesslog

import "bytes"

// Format is the format of a log.
type Format string

// The formats.
const (
	Combined   Format = "combined"   // the Common and the Combined Log Format, with or without a virtual host first
	Caddy      Format = "caddy"      // Caddy's JSON, one object a line
	CloudFront Format = "cloudfront" // CloudFront's standard logs: tab-separated after a "#Fields:" line, or JSON
)

// Formats lists all formats.
var Formats = []Format{Combined, Caddy, CloudFront}

// HeadBytes is the maximum number of bytes that are used to detect a log's format.
const HeadBytes = 64 << 10

// Detect returns the format of a log from its beginning, whose last line may be incomplete: the
// format in which most of the first lines are well formed, or "" if none is. A log without any line
// is Combined.
func Detect(head []byte) Format {
	head = bytes.TrimLeft(head, "\x00") // from a file that was truncated while its server kept writing
	if len(bytes.TrimSpace(head)) == 0 {
		return Combined
	}
	best, most := Format(""), 0
	for _, f := range Formats {
		if n := f.wellFormed(head); n > most {
			best, most = f, n
		}
	}
	return best
}

// detectLines is how many lines Detect examines.
const detectLines = 100

// wellFormed counts the first lines that describe a request in the format, or name its columns.
func (f Format) wellFormed(head []byte) int {
	p := Parser{format: f}
	n, seen := 0, 0
	for line := range bytes.Lines(head) {
		if e, err := p.Parse(line); err == nil && (!e.Time.IsZero() || p.columns != nil) {
			n++
		}
		if seen++; seen == detectLines {
			break
		}
	}
	return n
}
