package traffic

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"time"
)

// WriteLog writes exactly lines lines of an access log in the Combined Log Format, spread over the
// days of the options. It simulates as many visits as needed and ignores VisitsPerDay. Custom
// events are POST requests, so that page views are the GET requests of people for pages.
func (g *Generator) WriteLog(w io.Writer, lines int) error {
	if lines < 1 {
		return fmt.Errorf("%w: %d lines; use at least one", ErrInvalidOptions, lines)
	}
	perVisit := g.o.EventsPerVisit * (1 + g.assets) / (1 - g.o.BotShare)
	perDay := float64(lines) / perVisit / float64(g.o.Days)
	buffered := bufio.NewWriterSize(w, 256<<10)
	var line []byte
	var clock logClock
	for v, s := range g.steps(perDay) {
		if s.kind == leaving {
			continue
		}
		line = g.appendLine(line[:0], &clock, v, s)
		if _, err := buffered.Write(line); err != nil {
			return fmt.Errorf("traffic: write log: %w", err)
		}
		if lines--; lines == 0 {
			break
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("traffic: write log: %w", err)
	}
	return nil
}

func (g *Generator) appendLine(b []byte, clock *logClock, v *visit, s step) []byte {
	method, path, status, size := g.response(v, s)
	b = append(b, v.who.ip...)
	b = append(b, " - - ["...)
	b = append(b, clock.format(s.at)...)
	b = append(b, "] \""...)
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, path...)
	if s.first && v.from.query != "" {
		b = append(b, '?')
		b = append(b, v.from.query...)
	}
	b = append(b, " HTTP/1.1\" "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(size), 10)
	b = append(b, " \""...)
	b = appendField(b, g.referrer(v, s))
	b = append(b, "\" \""...)
	b = appendField(b, v.who.agent.userAgent)
	return append(b, "\"\n"...)
}

func appendField(b []byte, value string) []byte {
	if value == "" {
		return append(b, '-')
	}
	return append(b, value...)
}

// response returns the request of a step and the server's response.
func (g *Generator) response(v *visit, s step) (method, path string, status, size int) {
	switch s.kind {
	case action:
		return "POST", "/api/events/" + s.custom.name, 204, 0
	case asset:
		a := assetFiles[int(s.luck)%len(assetFiles)]
		return "GET", a.path, 200, a.bytes
	}
	switch percent := s.luck % 100; {
	case percent < 3 && !v.bot:
		return "GET", s.page.path, 304, 0
	case percent == 3:
		return "GET", s.page.path + "/old", 404, 1_245
	default:
		return "GET", s.page.path, 200, s.page.bytes
	}
}

var assetFiles = [...]struct {
	path  string
	bytes int
}{
	{"/assets/app-4f2a91.css", 41_022},
	{"/assets/app-9b1c77.js", 182_430},
	{"/assets/logo.svg", 3_114},
	{"/assets/inter.woff2", 98_868},
	{"/images/hero.webp", 64_530},
	{"/images/team.jpg", 120_942},
	{"/favicon.ico", 1_150},
}

// logClock formats times as in logs, and caches the last second.
type logClock struct {
	second int64
	text   []byte
}

func (c *logClock) format(milliseconds int64) []byte {
	if second := milliseconds / 1000; c.text == nil || second != c.second {
		c.second = second
		c.text = time.Unix(second, 0).UTC().AppendFormat(c.text[:0], "02/Jan/2006:15:04:05 -0700")
	}
	return c.text
}
