package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An AI client that starts `onefold mcp` asks a running server which campaign lost last week, with one
// call. A wrong key ends the command with an error.
func TestMCPOnStandardStreams(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	onefold(t, "--data", data, "site", "create", "s")
	log := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(log, []byte(campaignsOfTwoWeeks()), 0o600); err != nil {
		t.Fatal(err)
	}
	onefold(t, "--data", data, "import", "--site", "s", log)
	key := strings.Fields(onefold(t, "--data", data, "key", "create", "--site", "s", "--scope", "read"))[0]
	s := serve(t, data)
	defer func() {
		if err := s.end(t, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: process(t, "mcp", "--server", s.url, "--key", key), TerminateDuration: 10 * time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "explain_change", Arguments: map[string]any{
		"site_id": "s", "metric": "visits", "date_range": "last_week", "dimensions": []string{"utm_campaign"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if text := answer.Content[0].(*mcp.TextContent).Text; answer.IsError || !strings.Contains(text, `{"after":1,"before":3,"change":-0.6666666666666666,"difference":-2,"value":"spring"}`) {
		t.Error(text)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"mcp", "--server", s.url, "--key", "ofk_wrong"}, {"mcp", "--server", s.url}, {"mcp", "--server", "here", "--key", key}} {
		out, err := process(t, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "key") && !strings.Contains(string(out), "bad_server") {
			t.Errorf("%v: %v %s", args, err, out)
		}
	}
}

// campaignsOfTwoWeeks is an access log: three visits of the campaign spring in the week before the
// last, one in the last, and the same number of others.
func campaignsOfTwoWeeks() string {
	today := time.Now().UTC().Truncate(24 * time.Hour)
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	var lines strings.Builder
	for i, v := range []struct {
		weeksAgo int
		path     string
	}{{2, "/?utm_campaign=spring"}, {2, "/?utm_campaign=spring"}, {2, "/?utm_campaign=spring"}, {2, "/"}, {1, "/?utm_campaign=spring"}, {1, "/"}} {
		at := monday.AddDate(0, 0, -7*v.weeksAgo).Add(time.Duration(i) * time.Hour)
		fmt.Fprintf(&lines, "10.0.0.%d - - [%s] \"GET %s HTTP/1.1\" 200 12 \"-\" %q\n", i, at.Format("02/Jan/2006:15:04:05 -0700"), v.path, browser)
	}
	return lines.String()
}
