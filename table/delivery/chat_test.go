package delivery_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onefold/onefold/table/delivery"
)

// chat is a server that keeps the last body that was posted to it.
type chat struct {
	*httptest.Server
	got    string
	status int
}

func newChat(t *testing.T) *chat {
	c := &chat{status: http.StatusOK}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v %v", r.Method, r.Header, err)
		}
		c.got = string(body)
		w.WriteHeader(c.status)
	}))
	t.Cleanup(c.Close)
	return c
}

// hostile is a message whose texts come from users who try to mention people and to disguise links.
var hostile = delivery.Message{
	ID: "A", Event: "alert.firing", Urgency: delivery.Critical, Link: "https://onefold.example.com/a|b>",
	Title: "@everyone <!channel> *bold* [free](https://evil.example)\nsecond line",
	Text:  "Page:  /<!here> & ```\n\nPeak:  \"7\"\n",
}

func senders(t *testing.T, private bool) delivery.Senders {
	t.Helper()
	s, err := delivery.NewSenders(delivery.Options{Private: private})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// dig returns the value at a path of keys and indexes of decoded JSON.
func dig(t *testing.T, text string, path ...any) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, step := range path {
		switch at := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[at]
		case int:
			list, _ := v.([]any)
			if at >= len(list) {
				t.Fatalf("nothing at %v of %s", path, text)
			}
			v = list[at]
		}
	}
	s, _ := v.(string)
	return s
}

// Chats get the texts as they are, but not as markup.
func TestChats(t *testing.T) {
	c, s := newChat(t), senders(t, true)
	send := func(kind delivery.ChannelKind) {
		t.Helper()
		if err := s.Send(t.Context(), delivery.Target{Kind: kind, Settings: delivery.Settings{URL: c.URL + "/secret"}}, &hostile, start); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string, path ...any) {
		t.Helper()
		if got := dig(t, c.got, path...); got != want {
			t.Errorf("%v: %q, want %q", path, got, want)
		}
	}
	const title = "@everyone <!channel> *bold* [free](https://evil.example) second line"
	send(delivery.Slack)
	expect("@everyone &lt;!channel&gt; *bold* [free](https://evil.example) second line", "text")
	expect("plain_text", "blocks", 0, "text", "type")
	expect(title, "blocks", 0, "text", "text")
	expect("plain_text", "blocks", 1, "text", "type")
	expect(hostile.Text, "blocks", 1, "text", "text")
	expect("<https://onefold.example.com/a%7Cb%3E|Open in onefold>", "blocks", 2, "text", "text")

	send(delivery.Discord)
	expect(`\@everyone \<!channel\> \*bold\* \[free\]\(https\://evil.example\) second line`, "embeds", 0, "title")
	expect("```\nPage:  /<!here> & '''\n\nPeak:  \"7\"\n\n```", "embeds", 0, "description")
	expect(hostile.Link, "embeds", 0, "url")
	if !strings.Contains(c.got, `"allowed_mentions":{"parse":[]}`) {
		t.Errorf("mentions are allowed: %s", c.got)
	}

	send(delivery.Teams)
	card := []any{"attachments", 0, "content"}
	expect("message", "type")
	expect("RichTextBlock", append(card, "body", 0, "type")...)
	expect(title, append(card, "body", 0, "inlines", 0, "text")...)
	expect("Attention", append(card, "body", 0, "inlines", 0, "color")...)
	expect("Page:  /<!here> & ```", append(card, "body", 1, "inlines", 0, "text")...)
	expect(" ", append(card, "body", 2, "inlines", 0, "text")...)
	expect(hostile.Link, append(card, "actions", 0, "url")...)
}

// Long texts are shortened to what the services take, and failures name no URL.
func TestChatBounds(t *testing.T) {
	c := newChat(t)
	long := delivery.Message{ID: "A", Event: "e", Title: strings.Repeat("ä", 5000), Text: strings.Repeat(strings.Repeat("ö", 300)+"\n", 5000)}
	for kind, most := range map[delivery.ChannelKind]int{delivery.Slack: 20 << 10, delivery.Discord: 10 << 10, delivery.Teams: 28 << 10} {
		to := delivery.Target{Kind: kind, Settings: delivery.Settings{URL: c.URL + "/secret"}}
		s := senders(t, true)
		if err := s.Send(t.Context(), to, &long, start); err != nil || len(c.got) > most {
			t.Errorf("%s: %d bytes, %v", kind, len(c.got), err)
		}
		c.status = http.StatusNotFound
		if err := s.Send(t.Context(), to, &hostile, start); err == nil || !strings.Contains(err.Error(), "404") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", kind, err)
		}
		c.status = http.StatusOK
		public := senders(t, false)
		if err := public.Send(t.Context(), to, &hostile, start); !errors.Is(err, delivery.ErrPrivate) {
			t.Errorf("%s at a private address: %v", kind, err)
		}
	}
}
