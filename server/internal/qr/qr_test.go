package qr_test

import (
	"encoding/base64"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/internal/qr"
)

func TestDataURI(t *testing.T) {
	uri, err := qr.DataURI("otpauth://totp/onefold:ann@example.com?secret=GEZDGNBVGY3TQOJQ")
	if err != nil {
		t.Fatal(err)
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(uri, "data:image/svg+xml;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	var svg struct {
		ViewBox string `xml:"viewBox,attr"`
		Paths   []struct {
			D string `xml:"d,attr"`
		} `xml:"path"`
	}
	if err := xml.Unmarshal(text, &svg); err != nil {
		t.Fatal(err)
	}
	// 61 bytes at level M are version 4, with 33 modules, and the quiet zone around them. The
	// finders' corners are dark, and the modules beside them light.
	if svg.ViewBox != "0 0 41 41" || len(svg.Paths) != 2 {
		t.Fatalf("%s with %d paths", svg.ViewBox, len(svg.Paths))
	}
	dark := func(at string) bool { return strings.Contains(svg.Paths[1].D, "M"+at+"h1v1h-1z") }
	for at, want := range map[string]bool{"4 4": true, "36 4": true, "4 36": true, "5 5": false, "11 11": false, "0 0": false, "3 4": false} {
		if dark(at) != want {
			t.Errorf("the module at %s: dark %v", at, !want)
		}
	}
	if _, err := qr.DataURI(strings.Repeat("x", 3000)); err == nil {
		t.Error("a text that fits into no code")
	}
}
