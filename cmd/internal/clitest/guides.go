package clitest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Code is code in a guide: a line of a block, or text between backquotes.
type Code struct {
	File string
	Line int
	Text string

	block bool
}

// Inline matches code between backquotes in a text. Comment matches the comment at the end of a
// command.
var (
	Inline  = regexp.MustCompile("`([^`]+)`")
	Comment = regexp.MustCompile(`\s#\s.*$`)
)

// Read returns all code in README and the guides of the repository at root. It skips blocks of
// languages other than the shell's.
func Read(t *testing.T, root string) (all []Code) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs/guides/*.md"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d guides, %v", len(files), err)
	}
	for _, file := range append(files, filepath.Join(root, "README.md"), filepath.Join(root, "docs/upgrading.md"), filepath.Join(root, "docs/measured.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fence := ""
		for i, line := range strings.Split(string(text), "\n") {
			switch at := (Code{filepath.Base(file), i + 1, line, true}); {
			case strings.HasPrefix(line, "```"):
				if fence == "" {
					fence = line
				} else {
					fence = ""
				}
			case strings.HasPrefix(fence, "```sh"), fence == "" && strings.HasPrefix(line, "    "):
				all = append(all, at)
			case fence == "":
				for _, m := range Inline.FindAllStringSubmatch(line, -1) {
					all = append(all, Code{at.File, at.Line, m[1], false})
				}
			}
		}
	}
	return joined(all)
}

// joined joins lines of a block that are continued with a backslash.
func joined(all []Code) (out []Code) {
	for _, s := range all {
		if n := len(out); n > 0 && s.block && strings.HasSuffix(out[n-1].Text, `\`) {
			out[n-1].Text = strings.TrimSuffix(out[n-1].Text, `\`) + " " + strings.TrimSpace(s.Text)
			continue
		}
		out = append(out, s)
	}
	return out
}

var (
	set  = regexp.MustCompile(`^[A-Z_]+=`)
	word = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
)

// Commands returns the arguments of each call of a program in a text: a plain call, one with
// variables before it, or one by another program.
func Commands(text, program string) (all [][]string) {
	text = strings.ReplaceAll(Comment.ReplaceAllString(text, ""), "$(", " && ")
	for _, part := range regexp.MustCompile(` \|+ | && |; |\)| & `).Split(text, -1) {
		words := word.FindAllString(part, -1)
		if redirect := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, ">") || w == "&" || w == "→" }); redirect >= 0 {
			words = words[:redirect]
		}
		words = words[max(slices.IndexFunc(words, func(w string) bool { return !set.MatchString(w) }), 0):]
		if len(words) > 1 && words[0] == "docker" && words[1] == "exec" {
			words = words[max(slices.Index(words, "/"+program), 0):]
		} else if len(words) > 1 && words[0] == "systemd-run" {
			words = words[max(slices.Index(words, program), 0):]
		}
		if len(words) > 1 && slices.Contains([]string{program, "bin/" + program, "/" + program}, words[0]) {
			all = append(all, words[1:])
		}
	}
	return all
}

// Check tests that every command of a program in the guides exists, and has the flags that the guide
// uses. atLeast is the minimum number of commands.
func Check(t *testing.T, root, program string, grammar *kong.Node, atLeast int) {
	t.Helper()
	checked := 0
	for _, s := range Read(t, root) {
		for _, words := range Commands(s.Text, program) {
			checked++
			if wrong := unknownIn(grammar, words); wrong != "" {
				t.Errorf("%s:%d: %s %s: %s", s.File, s.Line, program, strings.Join(words, " "), wrong)
			}
		}
	}
	if t.Logf("%d commands", checked); checked < atLeast {
		t.Errorf("only %d commands were found", checked)
	}
}

// unknownIn follows words through the grammar, and describes the first unknown one.
func unknownIn(at *kong.Node, words []string) string {
	for i := 0; i < len(words); i++ {
		w := strings.Trim(words[i], `,.`)
		switch {
		case strings.HasPrefix(w, "-") && len(w) > 1:
			name, _, _ := strings.Cut(w, "=")
			if !hasFlag(at, name) {
				return "there is no flag " + name
			}
		case len(at.Children) == 0 || strings.ContainsAny(w, "[<…(") || w == "COMMAND":
		default:
			var next *kong.Node
			for _, one := range strings.Split(w, "|") {
				j := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == one || slices.Contains(n.Aliases, one) })
				if j >= 0 {
					next = at.Children[j]
				} else if !isFlagValue(at, words, i) && !at.Passthrough && at.DefaultCmd == nil {
					return "there is no command " + one
				}
			}
			if next != nil {
				at = next
			}
		}
	}
	return ""
}

// isFlagValue reports whether a word is the value of the flag before it.
func isFlagValue(at *kong.Node, words []string, i int) bool {
	if i == 0 || !strings.HasPrefix(words[i-1], "--") || strings.Contains(words[i-1], "=") {
		return false
	}
	for _, f := range flagsOf(at) {
		if "--"+f.Name == words[i-1] {
			return !f.IsBool()
		}
	}
	return false
}

func flagsOf(at *kong.Node) (all []*kong.Flag) {
	for ; at != nil; at = at.DefaultCmd {
		for _, group := range at.AllFlags(false) {
			all = append(all, group...)
		}
	}
	return all
}

// hasFlag reports whether a command has a flag; --flag… stands for all flags with that prefix.
func hasFlag(at *kong.Node, name string) bool {
	prefix, open := strings.CutSuffix(name, "…")
	return slices.ContainsFunc(flagsOf(at), func(f *kong.Flag) bool {
		long := "--" + f.Name
		return long == name || open && strings.HasPrefix(long, prefix) || f.Short != 0 && "-"+string(f.Short) == name ||
			f.Tag.Negatable != "" && "--no-"+f.Name == name
	})
}
