package accesslog

import "bytes"

// Format is how a server writes its log.
type Format string

// The formats.
const (
	Combined   Format = "combined"   // the Common and the Combined Log Format, with or without the virtual host before them
	Caddy      Format = "caddy"      // Caddy's JSON, one object a line
	CloudFront Format = "cloudfront" // CloudFront's standard logs: tab-separated after a "#Fields:" line, or JSON
)

// Formats are all formats.
var Formats = []Format{Combined, Caddy, CloudFront}

// HeadBytes is how much of a log is looked at to tell its format, at most.
const HeadBytes = 64 << 10

// Detect tells the format of a log from its beginning, of which the last line may be cut off: the one in which most of the first lines are well formed. It is "" if none is. A log without any line is Combined.
func Detect(head []byte) Format {
	head = bytes.TrimLeft(head, "\x00") // of a file that was truncated while its server wrote on
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

// detectLines is how many lines Detect looks at.
const detectLines = 100

// wellFormed counts the first lines that tell of a request in the format, or name its columns.
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
