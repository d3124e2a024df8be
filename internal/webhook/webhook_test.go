package webhook_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/onefold/onefold/internal/webhook"
)

// TestSign checks the example of the libraries at standardwebhooks.com.
func TestSign(t *testing.T) {
	const secret, id = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
	body := []byte(`{"test": 2432232314}`)
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := webhook.Sign(secret, id, "1614265330", body); got != want {
		t.Errorf("the signature is %s", got)
	}
	h := webhook.Header("application/json", id, time.Unix(1614265330, 0), body, secret, webhook.NewSecret())
	if got := h.Get("webhook-signature"); len(got) != 2*len(want)+1 || got[:len(want)+1] != want+" " {
		t.Errorf("the signatures are %s", got)
	}
}

func TestIsPrivate(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.com/hook": false, "https://93.184.215.14/": false, "https://[2606:2800:21f::1]/": false,
		"http://localhost": true, "http://a.localhost.:80/": true, "http://127.0.0.1:8080/": true, "http://10.1.2.3/": true,
		"http://[::1]/": true, "http://[::ffff:10.0.0.1]/": true, "http://169.254.169.254/latest": true, "http://100.64.0.1/": true, "http://[fe80::1%25eth0]/": true,
	} {
		if got := webhook.IsPrivate(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// TestPrivate calls a server of this machine, which only a client with Options.Private reaches.
func TestPrivate(t *testing.T) {
	called := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called++ }))
	defer server.Close()
	for _, private := range []bool{false, true} {
		c := webhook.NewClient(webhook.Options{Private: private})
		if err := c.Post(t.Context(), server.URL, nil, http.Header{}); errors.Is(err, webhook.ErrPrivate) == private || private && err != nil {
			t.Errorf("private %v: %v", private, err)
		}
	}
	if called != 1 {
		t.Errorf("called %d times", called)
	}
}
