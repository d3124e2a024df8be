package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// TestNotices writes the files of a release and reads them: every part that is linked or bundled is in both, with its licence.
func TestNotices(t *testing.T) {
	t.Chdir("../..")
	if _, err := os.Stat(bundledFile); err != nil {
		t.Skip("the dashboard is not built: run make web")
	}
	out := t.TempDir()
	if err := run(out, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	notices, err := os.ReadFile(filepath.Join(out, "THIRD_PARTY_NOTICES.txt"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "onefold.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bill cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	if bill.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("the bill is of %+v", bill.Metadata.Component)
	}
	found := make(map[string]bool)
	for _, c := range *bill.Components {
		found[c.Name] = true
		if line := "\n" + c.Name + " " + c.Version + " ("; !strings.Contains(string(notices), line) {
			t.Errorf("%s %s is not in the notices", c.Name, c.Version)
		}
		if c.Licenses == nil || c.PackageURL == "" || c.Version == "" {
			t.Errorf("%+v", c)
		}
	}
	for _, name := range []string{"Go standard library", "github.com/cockroachdb/pebble/v2", "github.com/aws/aws-lambda-go", "svelte", "uplot"} {
		if !found[name] {
			t.Errorf("%s is not in the bill", name)
		}
	}
	if found["github.com/onefold/onefold"] {
		t.Error("onefold is a part of itself")
	}
	again := t.TempDir()
	if err := run(again, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	if same, err := os.ReadFile(filepath.Join(again, "onefold.cdx.json")); err != nil || !bytes.Equal(text, same) {
		t.Errorf("the same input makes another bill: %v", err)
	}
}

// TestUnknownLicence refuses what nobody has read.
func TestUnknownLicence(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                    "Apache-2.0",
		"Redistribution and use in source\nand binary forms, with\nNeither the name of X": "BSD-3-Clause",
		"GNU GENERAL PUBLIC LICENSE":                                                      "", "All rights reserved.": "", "": "",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "LICENSE.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := part{name: "example.com/m", version: "v1.0.0"}
		if err := p.read(dir); (err == nil) != (want != "") || p.licence != want {
			t.Errorf("%q is %q: %v", text, p.licence, err)
		}
	}
	p := part{name: "example.com/none", version: "v1.0.0"}
	if err := p.read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "example.com/none v1.0.0") {
		t.Errorf("no licence: %v", err)
	}
}
