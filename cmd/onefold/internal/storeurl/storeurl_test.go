package storeurl_test

import (
	"strings"
	"testing"

	"github.com/onefold/onefold/cmd/onefold/internal/storeurl"
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
		{"onefold-data", "none of"},
		{"postgres://x", "none of"},
		{"embedded:", "lacks its directory"},
		{"memory:shared", "has no name"},
		{"dynamodb://", "no name of a table"},
		{"dynamodb://ab", "no name of a table"},
		{"dynamodb://onefold/items", "has a path"},
		{"dynamodb://onefold?retion=x", `no setting "retion"`},
		{"dynamodb://key:secret@onefold", "credentials do not belong"},
		{"dynamodb+http:///onefold", "names no server"},
		{"dynamodb+http://127.0.0.1:8000", "no name of a table"},
		{"dynamodb+http://127.0.0.1:8000/a/b/c", "no name of a table"},
		{"dynamodb+ftp://host/onefold", "none of"},
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
