package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// root is the root of the repository.
const root = "../../"

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var variable = regexp.MustCompile(`\bONEFOLD_[A-Z_]+`)

// The program knows all variables that packages set, and all files of the repository that packages
// need exist.
func TestPackages(t *testing.T) {
	known := variable.FindAllString(onefold(t, "serve", "--help"), -1)
	docker, unit := read(t, "Dockerfile"), read(t, "packaging/onefold.service")
	for name, text := range map[string]string{"Dockerfile": docker, "onefold.service": unit, "onefold.env": read(t, "packaging/onefold.env")} {
		found := variable.FindAllString(text, -1)
		if len(found) == 0 {
			t.Errorf("%s sets nothing", name)
		}
		for _, v := range found {
			if !slices.Contains(known, v) {
				t.Errorf("%s sets %s, which no flag of onefold serve reads", name, v)
			}
		}
	}
	copies := regexp.MustCompile(`(?m)^COPY ([^-\s]\S*) `).FindAllStringSubmatch(docker, -1)
	if len(copies) == 0 {
		t.Error("the Dockerfile copies nothing")
	}
	for _, c := range copies {
		if _, err := os.Stat(filepath.Join(root, c[1])); err != nil {
			t.Errorf("Dockerfile: %v", err)
		}
	}
	version := regexp.MustCompile(`golang:(\d+\.\d+)`).FindStringSubmatch(docker)
	if version == nil || !strings.Contains(read(t, "go.mod"), "\ngo "+version[1]) {
		t.Errorf("the Dockerfile builds with Go %v, go.mod asks for another", version)
	}
	health := regexp.MustCompile(`CMD \["/onefold", "(\w+)"`).FindStringSubmatch(docker)
	if health == nil || !strings.Contains(onefold(t, health[1], "--help"), "Check a server's health") {
		t.Errorf("the container's check of health runs %v", health)
	}
}

// TestReleases checks that all files of a release exist.
func TestReleases(t *testing.T) {
	var release struct {
		Builds   []struct{ Main, Binary string }
		Archives []struct{ Files []yaml.Node }
	}
	if err := yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &release); err != nil {
		t.Fatal(err)
	}
	for _, b := range release.Builds {
		if _, err := os.Stat(filepath.Join(root, b.Main, "main.go")); err != nil || !strings.Contains(read(t, b.Main+"/main.go"), "var version = ") {
			t.Errorf("%s has no version to be set: %v", b.Main, err)
		}
	}
	for _, f := range release.Archives[0].Files {
		name := f.Value
		if f.Kind == yaml.MappingNode {
			name = f.Content[1].Value
		}
		if strings.HasPrefix(name, "bin/") { // created by the hook; packaging/notices has a test
			continue
		}
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("released: %v", err)
		}
	}
}

// TestSystemdUnit checks the unit with systemd, if it is installed.
func TestSystemdUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("systemd-analyze is missing, or this is not Linux: install Debian's package systemd")
	}
	unit := strings.ReplaceAll(read(t, "packaging/onefold.service"), "/usr/local/bin/onefold", "/bin/true")
	file := filepath.Join(t.TempDir(), "onefold.service")
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	if told, err := exec.CommandContext(t.Context(), analyze, "verify", file).CombinedOutput(); err != nil || strings.Contains(string(told), "onefold.service") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, told)
	}
	// 20 means an exposure of 2.0 of 10.
	if told, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=20", file).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, told)
	}
}
