package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestClientsAreNotLogged(t *testing.T) {
	for line, want := range map[string]string{
		"http: panic serving 203.0.113.9:4711: oops\ngoroutine 7": "http: panic serving (client): oops",
		"http: TLS handshake error from [2001:db8::9]:4711: EOF":  "http: TLS handshake error from (client): EOF",
		"http: panic serving [fe80::1%eth0]:80: x":                "http: panic serving (client): x",
		"http: URL query contains semicolon":                      "http: URL query contains semicolon",
		"array [1 2]: index out of range [5] with length 3":       "index out of range [5]",
	} {
		var out bytes.Buffer
		errorLog(slog.New(slog.NewTextHandler(&out, nil))).Print(line)
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "113.9") || strings.Contains(out.String(), "db8") {
			t.Errorf("%q is logged as %s", line, out.String())
		}
	}
}
