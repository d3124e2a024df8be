package secret

import (
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	token, hash := NewToken("a.b")
	id, secret, ok := Split(token)
	if !ok || id != "a.b" || !ProofOf(secret).Of(hash) {
		t.Errorf("%q is of %q with %q: %t", token, id, secret, ok)
	}
	other, otherHash := NewToken("a.b")
	if other == token || ProofOf(secret).Of(otherHash) || ProofOf("").Of(hash) || ProofOf(secret).Of(nil) {
		t.Errorf("%q proves %q", token, other)
	}
	for _, bad := range []string{"", "a", token + "x", "." + strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20)} {
		if _, _, ok := Split(bad); ok {
			t.Errorf("%.50q is a token", bad)
		}
	}
}

// A code may be typed from a label in any format.
func TestCodes(t *testing.T) {
	code := NewCode()
	if code == NewCode() || len(code) != 20 || strings.ToUpper(code) != code {
		t.Errorf("code %q", code)
	}
	typed := strings.ToLower(code[:5] + "-" + code[5:10] + " " + code[10:])
	if CodeHash(typed) != CodeHash(code) || CodeHash(code[1:]) == CodeHash(code) {
		t.Errorf("%q is not %q", typed, code)
	}
}
