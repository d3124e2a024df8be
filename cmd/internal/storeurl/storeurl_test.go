package storeurl_test

import (
	"strings"
	"testing"

	"github.com/onefold/onefold/cmd/internal/storeurl"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ store, want string }{
		{"", "embedded:data"},
		{"embedded:/var/lib/onefold", "embedded:/var/lib/onefold"},
		{"embedded:./x y", "embedded:./x y"},
		{"memory:", "memory:"},
		{"dynamodb://onefold", "dynamodb://onefold"},
		{"dynamodb://one_fold.prod-2?region=eu-central-1", "dynamodb://one_fold.prod-2?region=eu-central-1"},
		{"dynamodb://onefold?profile=work&region=eu-west-1", "dynamodb://onefold?profile=work&region=eu-west-1"},
		{"dynamodb+http://127.0.0.1:8000/onefold", "dynamodb+http://127.0.0.1:8000/onefold"},
		{"dynamodb+https://db.example.com/onefold?region=r", "dynamodb+https://db.example.com/onefold?region=r"},
	} {
		p, err := storeurl.Parse(c.store, "data")
		if err != nil || p.String() != c.want {
			t.Errorf("Parse(%q) = %v, %v; want %s", c.store, p, err, c.want)
		}
		if again, err := storeurl.Parse(p.String(), ""); err != nil || again != p {
			t.Errorf("Parse(%q) = %v, %v; want what it was printed of, %v", p, again, err, p)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ store, says string }{
		{"onefold-data", "not a store URL"},
		{"postgres://x", "not a store URL"},
		{"embedded:", "needs a directory"},
		{"memory:shared", "takes no name"},
		{"dynamodb://", "not a table name"},
		{"dynamodb://ab", "not a table name"},
		{"dynamodb://onefold/items", "has a path"},
		{"dynamodb://onefold?retion=x", `unknown parameter "retion"`},
		{"dynamodb://key:secret@onefold", "do not put credentials"},
		{"dynamodb+http:///onefold", "names no server"},
		{"dynamodb+http://127.0.0.1:8000", "not a table name"},
		{"dynamodb+http://127.0.0.1:8000/a/b/c", "not a table name"},
		{"dynamodb+ftp://host/onefold", "not a store URL"},
		{"dynamodb://one%zzfold", "bad_store"},
	} {
		_, err := storeurl.Parse(c.store, "data")
		if err == nil || !strings.HasPrefix(err.Error(), "bad_store: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Parse(%q): %v; want bad_store that says %q", c.store, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("Parse(%q) shows the secret: %v", c.store, err)
		}
	}
}
