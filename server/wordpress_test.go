package server_test

import (
	"encoding/json"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/onefold/onefold/server/servertest"
)

const wordPressPlugin = "../examples/wordpress/onefold/onefold.php"

// plugged is what the WordPress plugin stores and prints: see testdata/wordpress.php.
type plugged struct {
	Head, Page string
	Errors     []string
	Left       []string
}

func wordPress(t *testing.T, world map[string]any) (out plugged) {
	t.Helper()
	php, err := exec.LookPath("php")
	if err != nil {
		t.Skip("PHP is missing: run `make webservers`, or install Debian's package php-cli")
	}
	in, err := json.Marshal(world)
	servertest.Must(t, err)
	cmd := exec.CommandContext(t.Context(), php, "-d", "error_reporting=32767", "-d", "display_errors=stderr", "testdata/wordpress.php", wordPressPlugin)
	cmd.Stdin = strings.NewReader(string(in))
	var told strings.Builder
	cmd.Stderr = &told
	answer, err := cmd.Output()
	if err != nil || told.Len() > 0 {
		t.Fatalf("%v: %s%s", err, told.String(), answer)
	}
	servertest.Must(t, json.Unmarshal(answer, &out))
	return out
}

func TestTheWordPressPlugin(t *testing.T) {
	t.Parallel()
	type world = map[string]any
	settings := world{"site": "my-site", "server": "https://stats.example.com/", "vitals": "1"}
	for name, c := range map[string]struct {
		world
		head   string
		errors []string
	}{
		"new":             {world: world{}},
		"page":            {world: world{"submitted": settings}, head: `<script async data-site="my-site" src="https://stats.example.com/js/onefold.js" data-vitals></script>`},
		"missing page":    {world: world{"submitted": settings, "missing": true}, head: `<script async data-site="my-site" src="https://stats.example.com/js/onefold.js" data-vitals data-404></script>`},
		"preview":         {world: world{"submitted": settings, "preview": true}},
		"editor":          {world: world{"submitted": settings, "can": []string{"edit_posts"}}},
		"counted editor":  {world: world{"submitted": world{"site": "a", "server": "http://127.0.0.1:8090", "editors": "1"}, "can": []string{"edit_posts"}}, head: `<script async data-site="a" src="http://127.0.0.1:8090/js/onefold.js"></script>`},
		"broken settings": {world: world{"stored": world{"onefold": "text"}}},
		"not settings":    {world: world{"submitted": "text"}},
		"quotes":          {world: world{"submitted": world{"site": `"><b>`, "server": `https://a.example/"><script>`}}, head: `<script async data-site="&quot;&gt;" src="https://a.example/script/js/onefold.js"></script>`},
		"other protocol":  {world: world{"submitted": world{"site": "a", "server": "javascript:alert(1)"}}, errors: []string{"server"}},
		"long site":       {world: world{"submitted": world{"site": strings.Repeat("a", 129), "server": "https://a.example"}}, errors: []string{"site"}},
		"a part of a key": {world: world{"submitted": world{"site": "a#b", "server": "https://a.example"}}, errors: []string{"site"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := wordPress(t, c.world)
			if out.Head != c.head || len(out.Errors)+len(c.errors) > 0 && !reflect.DeepEqual(out.Errors, c.errors) {
				t.Errorf("%q, errors %q; want %q, %q", out.Head, out.Errors, c.head, c.errors)
			}
			if out.Page != "" || len(out.Left) > 0 {
				t.Errorf("page %.80q for one who may not see it, settings %q left", out.Page, out.Left)
			}
		})
	}
	page := wordPress(t, world{"stored": world{"onefold": world{"site": `a"b`, "server": "https://a.example", "vitals": true}}, "can": []string{"manage_options"}}).Page
	for _, want := range []string{`value="a&quot;b"`, `name="_wpnonce"`, `value="1" checked`} {
		if !strings.Contains(page, want) {
			t.Errorf("the settings page lacks %s: %s", want, page)
		}
	}
}
