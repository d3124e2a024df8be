// Command prose checks help texts and the dashboard's labels with Vale, as `make prose` does with documents.
//
//	go run ./packaging/prose bin/vale
//
// Texts are the tags help and doc of Go's structs, the fields Help and Label of their literals, and labels, titles and
// text of Svelte components. Each finding names the file and line of its text. The section stdin.md of .vale.ini has
// the rules.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: prose VALE")
	}
	texts, err := collect(".")
	if err != nil {
		log.Fatal(err)
	}
	found, err := check(os.Args[1], texts)
	for _, f := range found {
		fmt.Println(f)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Checked %d help texts and labels.\n", len(texts))
}

// text is one help text or label.
type text struct {
	file string
	line int
	text string
}

func collect(root string) ([]text, error) {
	var all []text
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "node_modules" || name == "testdata" || name == "bin" || name == "dist" || strings.HasPrefix(name, ".") && path != root) {
			return filepath.SkipDir
		}
		read := map[string]func(string, []byte) ([]text, error){".go": ofGo, ".svelte": ofSvelte}[filepath.Ext(name)]
		if read == nil || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		texts, err := read(path, content)
		all = append(all, texts...)
		return err
	})
	return all, err
}

func ofGo(file string, content []byte) (texts []text, err error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, file, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		if t, ok := helpIn(n); ok {
			texts = append(texts, text{file, set.Position(n.Pos()).Line, t})
		}
		field, ok := n.(*ast.Field)
		if !ok || field.Tag == nil {
			return true
		}
		tag, _ := strconv.Unquote(field.Tag.Value) // the parser accepted it
		for _, key := range []string{"help", "doc"} {
			if t := reflect.StructTag(tag).Get(key); t != "" {
				texts = append(texts, text{file, set.Position(field.Tag.Pos()).Line, t})
			}
		}
		return true
	})
	return texts, nil
}

// helpIn returns the text of Help or Label in a literal, such as a kind of channel.
func helpIn(n ast.Node) (string, bool) {
	pair, ok := n.(*ast.KeyValueExpr)
	if !ok {
		return "", false
	}
	key, named := pair.Key.(*ast.Ident)
	value, literal := pair.Value.(*ast.BasicLit)
	if !named || !literal || value.Kind != token.STRING || key.Name != "Help" && key.Name != "Label" {
		return "", false
	}
	t, err := strconv.Unquote(value.Value)
	return t, err == nil
}

var (
	hidden = regexp.MustCompile(`(?s)<(script|style)\b.*?</(script|style)>|<!--.*?-->`)
	// A label is an attribute, or text between two tags.
	label = regexp.MustCompile(`\b(?:label|title|aria-label|placeholder|hint|text)="([^"]*)"|>([^<>]+)<`)
	value = regexp.MustCompile(`\{[^{}]*\}`)
	words = regexp.MustCompile(`[A-Za-z]{2}`)
)

func ofSvelte(file string, content []byte) (texts []text, err error) {
	blank := func(b []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(b, []byte("\n"))) }
	content = hidden.ReplaceAllFunc(content, blank)
	for value.Match(content) { // values may have braces inside
		content = value.ReplaceAllFunc(content, func(b []byte) []byte { return append([]byte("…"), blank(b)...) })
	}
	for _, m := range label.FindAllSubmatchIndex(content, -1) {
		from, to := max(m[2], m[4]), max(m[3], m[5])
		if t := content[from:to]; words.Match(t) {
			start := to - len(bytes.TrimLeft(t, " \n\t"))
			texts = append(texts, text{file, 1 + bytes.Count(content[:start], []byte("\n")), strings.Join(strings.Fields(string(t)), " ")})
		}
	}
	return texts, nil
}

// code matches flags, names, URLs and markup, which Vale must not take for prose.
var code = regexp.MustCompile("`[^`]*`" + `|--[\w-]+(?:=\S+)?|\S+://\S+|\S*[\w)]\.[a-z]\S*|\b[a-z]+[A-Z]\w*|\S*[_/=~{}<>*#\[\]|]\S*`)

var finding = regexp.MustCompile(`(?m)^stdin\.md:(\d+):\d+:(.*)$`)

// check makes each text a paragraph of one document, so that a line number identifies the text. The error is Vale's exit
// status: findings that are warnings leave it nil.
func check(vale string, texts []text) ([]string, error) {
	var document bytes.Buffer
	for _, t := range texts {
		one := code.ReplaceAllStringFunc(t.text, func(s string) string { return "`" + strings.Trim(s, "`") + "`" })
		fmt.Fprintf(&document, "%s\n\n", strings.ReplaceAll(one, "\n", " "))
	}
	run := exec.Command(vale, "--no-global", "--ext=.md", "--output=line")
	run.Stdin = &document
	out, err := run.CombinedOutput()
	var found []string
	for _, m := range finding.FindAllSubmatch(out, -1) {
		line, _ := strconv.Atoi(string(m[1])) // digits
		t := texts[(line-1)/2]
		found = append(found, fmt.Sprintf("%s:%d: %s\n\t%s", t.file, t.line, m[2], t.text))
	}
	if err != nil && found == nil {
		return nil, fmt.Errorf("%s: %w: %s", vale, err, out)
	}
	return found, err
}
