package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	goFile = "package a\n\ntype flags struct {\n\tSite string `help:\"Site's ID.\" default:\"a\"`\n\tDay  string `json:\"day\" doc:\"First day, as in --from.\"`\n\tNone int    `json:\"none\"`\n}\n\nvar s = set{Help: \"Topic to publish to.\"}\n"
	page   = `<script lang="ts">
  const two = (a) => a > 1 && "<b>no label</b>"
</script>
<Field label="User ID"><input bind:value={user} /></Field>
<p>
  {#if n > 2}Erased {n} events of {names.map((n) => ` + "`${n}`" + `)}.{/if}
</p>
`
)

func TestTextsAndFindings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"a.go": goFile, "b.svelte": page, "a_test.go": "not Go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	texts, err := collect(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, b := filepath.Join(dir, "a.go"), filepath.Join(dir, "b.svelte")
	want := []text{{a, 4, "Site's ID."}, {a, 5, "First day, as in --from."}, {a, 9, "Topic to publish to."}, {b, 4, "User ID"}, {b, 6, "…Erased … events of ….…"}}
	if !slices.Equal(texts, want) {
		t.Fatalf("texts are %+v, want %+v", texts, want)
	}

	// In place of Vale: a program that finds something in line 3, and says what it was given.
	vale := filepath.Join(dir, "vale")
	script := "#!/bin/sh\ncat >" + vale + ".in\necho stdin.md:3:1:Onefold.Rule:message\nexit 1\n"
	if err := os.WriteFile(vale, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	found, err := check(vale, texts)
	if err == nil || len(found) != 1 || !strings.HasPrefix(found[0], a+":5: Onefold.Rule:message") {
		t.Errorf("found %q, %v", found, err)
	}
	given, err := os.ReadFile(vale + ".in")
	if err != nil || !strings.HasPrefix(string(given), "Site's ID.\n\nFirst day, as in `--from`.\n\nTopic to publish to.\n\nUser ID\n\n") {
		t.Errorf("Vale was given %q, %v", given, err)
	}
}

func TestRulesFindFaults(t *testing.T) {
	t.Parallel()
	vale, err := filepath.Abs("../../bin/vale")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(vale); err != nil {
		t.Skip("bin/vale is missing: run `make bin/vale`")
	}
	long := strings.Repeat("word and ", 18) + "end."
	cases := []struct{ text, rule string }{
		{"# Store and Worker", "Onefold.Heading"},
		{"# Migrate from DynamoDB Local", ""},
		{"What the worker has read is folded.", "Onefold.Subject"},
		{"A visitor counts once, and what was read is folded.", "Onefold.Subject"},
		{"What does the worker read in a turn?", ""},
		{"Counters begin anew.", "Onefold.Translated"},
		{"The worker mends its items.", "Onefold.Terms"},
		{"The package `mend` and the flag `--anew` are code.", ""},
		{"Please run it.", "Onefold.Courtesy"},
		{"The worker recieves events.", "Vale.Spelling"},
		{"The the worker reads.", "Vale.Repetition"},
		{"A " + long, "Onefold.Length"},
		{"A list: " + strings.ReplaceAll(long, "and", "or;"), ""},
	}
	args := []string{"--no-global", "--config=../../.vale.ini", "--output=line"}
	dir := t.TempDir()
	for i, c := range cases {
		file := filepath.Join(dir, fmt.Sprint(i, ".md"))
		if err := os.WriteFile(file, []byte(c.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	out, _ := exec.Command(vale, args...).CombinedOutput() // fails: it finds errors
	for i, c := range cases {
		var found string
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, filepath.Join(dir, fmt.Sprint(i, ".md:"))) {
				found += line
			}
		}
		if (c.rule == "") != (found == "") || !strings.Contains(found, c.rule) {
			t.Errorf("%q: want %q, found %q in %s", c.text, c.rule, found, out)
		}
	}
}
