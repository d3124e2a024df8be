package listen_test

import (
	"os"
	"strings"
	"testing"

	"github.com/onefold/onefold/cmd/onefold/internal/listen"
)

func TestOn(t *testing.T) {
	l, err := listen.On("--addr", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for addr, code := range map[string]string{
		l.Addr().String(): "address_in_use", "127.0.0.1": "bad_address", "127.0.0.1:70000": "bad_address", "192.0.2.1:0": "bad_address",
		"no such host:80": "bad_address", "127.0.0.1:http!": "bad_address",
	} {
		if _, err := listen.On("--addr", addr); err == nil || !strings.HasPrefix(err.Error(), code+": ") || !strings.Contains(err.Error(), "--addr") {
			t.Errorf("%s: %v, want %s", addr, err, code)
		}
	}
	if os.Getuid() == 0 {
		return // this user may listen on any port
	}
	if l, err := listen.On("--addr", "127.0.0.1:1"); err == nil {
		l.Close() // this system allows everybody
	} else if !strings.HasPrefix(err.Error(), "no_access: ") {
		t.Error(err)
	}
}

func TestNearTakesAnotherPort(t *testing.T) {
	l, err := listen.On("--addr", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	other, err := listen.Near("--addr", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if other.Addr().String() == l.Addr().String() {
		t.Errorf("both listen on %s", l.Addr())
	}
	if _, err := listen.Near("--addr", "192.0.2.1:80"); err == nil || !strings.HasPrefix(err.Error(), "bad_address: ") {
		t.Errorf("%v", err)
	}
}
