package await_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onefold/onefold/cmd/internal/remote"
	"github.com/onefold/onefold/cmd/onefold/internal/await"
	"github.com/onefold/onefold/dynamo"
)

// Errors of an unreachable table, and of one that responds.
var (
	errGone    = fmt.Errorf("%w: nobody answers", remote.ErrAway)
	errGaveUp  = fmt.Errorf("check: %w", &dynamo.Failure{Kind: dynamo.Unreachable, After: time.Second})
	errRefused = fmt.Errorf("check: %w", &dynamo.Failure{Kind: dynamo.Throttled, After: time.Second})
	errDiffers = errors.New("table_differs: it has no index")
	errMoved   = fmt.Errorf("check: %w", &dynamo.Failure{Kind: dynamo.Moved, After: time.Second})
)

// Open waits while the table is unreachable, and returns its first response.
func TestOpen(t *testing.T) {
	for name, c := range map[string]struct {
		says []error
		want error
	}{
		"there":              {[]error{nil}, nil},
		"differs":            {[]error{errDiffers}, errDiffers},
		"comes":              {[]error{errGone, errGaveUp, errRefused, errGone, errGone, errGone, nil}, nil},
		"comes, and differs": {[]error{errGone, errDiffers}, errDiffers},
		"comes, and moved":   {[]error{errGone, errMoved}, errMoved},
	} {
		synctest.Test(t, func(t *testing.T) {
			var told bytes.Buffer
			asked, began := 0, time.Now()
			got, err := await.Open(t.Context(), await.Options{Err: &told}, func(context.Context) (int, error) {
				asked++
				return asked, c.says[asked-1]
			})
			if !errors.Is(err, c.want) || got != len(c.says) || asked != len(c.says) {
				t.Errorf("%s: %d, %v after %d", name, got, err, asked)
			}
			if waited := strings.Contains(told.String(), "onefold waits for its table: "); waited != (len(c.says) > 1) {
				t.Errorf("%s: told %q", name, told.String())
			}
			if took := time.Since(began); took > time.Duration(len(c.says)-1)*10*time.Second {
				t.Errorf("%s: took %s", name, took)
			}
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	if _, err := await.Open(ctx, await.Options{Err: io.Discard}, func(context.Context) (int, error) { stop(); return 0, errGone }); !errors.Is(err, context.Canceled) {
		t.Errorf("told to stop: %v", err)
	}
}

// A waiting process responds like a server whose table is unreachable.
func TestAnswers(t *testing.T) {
	said, w := io.Pipe()
	asked := make(chan struct{})
	opened := make(chan error, 1)
	go func() {
		_, err := await.Open(t.Context(), await.Options{Flag: "--addr", Addr: "127.0.0.1:0", Err: w}, func(context.Context) (int, error) {
			select {
			case <-asked:
				return 0, nil
			default:
				return 0, errGone
			}
		})
		opened <- err
	}()
	line := make([]byte, 1000)
	n, err := said.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(string(line[:n]))
	for path, want := range map[string]string{"/livez": `200 {"status":"alive"}`, "/readyz": `503 {"status":"unreachable"}`, "/healthz": `503 {"status":"unreachable"}`, "/api/event": `urn:onefold:error:store_unreachable`} {
		answer, err := http.Post(url+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if got := fmt.Sprintf("%d %s", answer.StatusCode, text); err != nil || !strings.Contains(got, want) || (answer.StatusCode != http.StatusOK) != (answer.Header.Get("Retry-After") != "") {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	if _, err := await.Open(t.Context(), await.Options{Flag: "--addr", Addr: strings.TrimPrefix(url, "http://"), Err: io.Discard}, func(context.Context) (int, error) { return 0, errGone }); err == nil || !strings.HasPrefix(err.Error(), "address_in_use: ") {
		t.Errorf("an address that is used: %v", err)
	}
	close(asked)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
