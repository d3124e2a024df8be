// Command notices writes what a release says of the software in it that others wrote: their licences, and a bill of materials.
//
//	go run ./packaging/notices -version v1.2.3 -out dist
//
// writes THIRD_PARTY_NOTICES.txt and onefold.cdx.json (CycloneDX 1.6, JSON). Go modules are those that the programs are linked of; npm
// packages are those that Vite says it bundled. A licence that is none of the known ones ends it with an error, so that
// somebody reads it.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const bundledFile = "server/dashboard/dist/web/.vite/licenses.json"

var programs = []string{"./cmd/onefold", "./cmd/onefold-lambda"}

// part is a module or package that somebody else wrote.
type part struct {
	name, version string
	purl          string // as bills of materials name it
	licence       string // SPDX identifier
	text          string // of the licence, and of a NOTICE file
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("notices: ")
	out := flag.String("out", "dist", "write the files into this `directory`")
	version := flag.String("version", "dev", "the version of onefold")
	flag.Parse()
	if err := run(*out, *version); err != nil {
		log.Fatal(err)
	}
}

func run(out, version string) error {
	modules, err := goModules(programs)
	if err != nil {
		return err
	}
	bundled, err := npmPackages(bundledFile)
	if err != nil {
		return err
	}
	parts := slices.Concat(modules, bundled)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "THIRD_PARTY_NOTICES.txt"), notices(parts), 0o644); err != nil {
		return err
	}
	bill, err := billOfMaterials(version, parts)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "onefold.cdx.json"), bill, 0o644); err != nil {
		return err
	}
	log.Printf("%d Go modules and %d npm packages, in %s", len(modules), len(bundled), out)
	return nil
}

// goModules are the modules that programs are linked of, and Go itself.
func goModules(programs []string) ([]part, error) {
	const format = `{{with .Module}}{{if not .Main}}{{.Path}}{{"\t"}}{{.Version}}{{"\t"}}{{.Dir}}{{end}}{{end}}`
	list, err := output("go", append([]string{"list", "-deps", "-f", format}, programs...)...)
	if err != nil {
		return nil, err
	}
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	version := strings.TrimPrefix(runtime.Version(), "go")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	slices.Sort(lines)
	parts := []part{{name: "Go standard library", version: version, purl: "pkg:generic/go@" + version}}
	if err := parts[0].read(strings.TrimSpace(root)); err != nil {
		return nil, err
	}
	for _, line := range slices.Compact(lines) {
		fields := strings.Split(line, "\t")
		if len(fields) != 3 {
			continue // of the standard library, or our own
		}
		p := part{name: fields[0], version: fields[1], purl: "pkg:golang/" + fields[0] + "@" + fields[1]}
		if err := p.read(fields[2]); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out), nil
}

// read takes the licence and the notice, if there is one, of the directory of a part.
func (p *part) read(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var texts []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		licence := strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING") || strings.HasPrefix(name, "UNLICENSE")
		if e.IsDir() || strings.HasSuffix(name, ".GO") || !licence && !strings.HasPrefix(name, "NOTICE") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		texts = append(texts, strings.TrimSpace(string(text)))
		if id := identify(string(text)); licence && id != "" && !slices.Contains(strings.Split(p.licence, " AND "), id) {
			p.licence = strings.TrimPrefix(p.licence+" AND "+id, " AND ")
		}
	}
	p.text = strings.Join(texts, "\n\n")
	return p.check(dir)
}

func (p *part) check(where string) error {
	if p.licence == "" || p.text == "" {
		return fmt.Errorf("%s %s has no licence that is known (%s): read it, and add it to the list in packaging/notices, or do without", p.name, p.version, where)
	}
	return nil
}

// identify returns the SPDX identifier of a licence; "" if it is none that onefold may be linked with.
func identify(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	has := func(phrases ...string) bool {
		return !slices.ContainsFunc(phrases, func(phrase string) bool { return !strings.Contains(text, phrase) })
	}
	switch {
	case has("Apache License", "Version 2.0, January 2004"):
		return "Apache-2.0"
	case has("Mozilla Public License Version 2.0") || has("Mozilla Public License, version 2.0"):
		return "MPL-2.0"
	case has("Redistribution and use in source and binary forms", "Neither the name") || has("Redistribution and use in source and binary forms", "The names of its contributors may not"):
		return "BSD-3-Clause"
	case has("Redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	case has("Permission is hereby granted, free of charge, to any person obtaining a copy"):
		return "MIT"
	case has("Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee") || has("Permission to use, copy, modify, and distribute this software for any purpose with or without fee"):
		return "ISC"
	case has("This is free and unencumbered software released into the public domain"):
		return "Unlicense"
	}
	return ""
}

// npmPackages are the packages of npm that Vite bundled into the dashboard, as it listed them in a file.
func npmPackages(file string) ([]part, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: run make web first, which bundles the dashboard", err)
	}
	if err != nil {
		return nil, err
	}
	var bundled []struct{ Name, Version, Identifier, Text string }
	if err := json.Unmarshal(text, &bundled); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	parts := make([]part, len(bundled))
	for i, b := range bundled {
		purl := "pkg:npm/" + strings.Replace(b.Name, "@", "%40", 1) + "@" + b.Version
		parts[i] = part{name: b.Name, version: b.Version, purl: purl, licence: b.Identifier, text: strings.TrimSpace(b.Text)}
		if err := parts[i].check(file); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.name, b.name) })
	return parts, nil
}

// notices is the text that licences ask to be passed on. One that several parts share is there once.
func notices(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString("onefold contains software that others wrote, under the licences below.\n")
	said := make(map[string]bool)
	for _, p := range parts {
		if said[p.text] {
			continue
		}
		said[p.text] = true
		fmt.Fprintf(&b, "\n%s\n", strings.Repeat("=", 80))
		for _, same := range parts {
			if same.text == p.text {
				fmt.Fprintf(&b, "%s %s (%s)\n", same.name, same.version, same.licence)
			}
		}
		fmt.Fprintf(&b, "\n%s\n", p.text)
	}
	return b.Bytes()
}

// billOfMaterials names the parts for programs that look for known weaknesses and licences.
func billOfMaterials(version string, parts []part) ([]byte, error) {
	bom := cdx.NewBOM()
	bom.SerialNumber = "" // the same input is the same file
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: "onefold", Type: cdx.ComponentTypeApplication, Name: "onefold", Version: version, Licenses: licences("Apache-2.0"),
	}}
	components := make([]cdx.Component, len(parts))
	depends := make([]string, len(parts))
	for i, p := range parts {
		components[i] = cdx.Component{
			BOMRef: p.purl, Type: cdx.ComponentTypeLibrary, Name: p.name, Version: p.version, PackageURL: p.purl, Licenses: licences(p.licence),
		}
		depends[i] = p.purl
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: "onefold", Dependencies: &depends}}
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
	return b.Bytes(), err
}

func licences(id string) *cdx.Licenses {
	if strings.Contains(id, " ") {
		return &cdx.Licenses{{Expression: id}}
	}
	return &cdx.Licenses{{License: &cdx.License{ID: id}}}
}
