package webanalytics

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/onefold/onefold/analytics"
)

// reasons returns why the lines of a body are rejected; "" for valid ones.
func reasons(t *testing.T, body io.Reader) (events []Event, why []analytics.Reason) {
	t.Helper()
	events, decided, err := readLines(body)
	if err != nil || len(events) != len(decided) {
		t.Fatalf("%d events and %d outcomes: %v", len(events), len(decided), err)
	}
	for i := range decided {
		if (decided[i].Status == "") != (decided[i].Reason == "") {
			t.Errorf("an outcome with status %q and reason %q", decided[i].Status, decided[i].Reason)
		}
		why = append(why, decided[i].Reason)
	}
	return events, why
}

// lineOf returns a line of so many bytes, without its ending.
func lineOf(n int) string {
	const begin, end = `{"url":"/","props":{"a":"`, `"}}`
	return begin + strings.Repeat("x", n-len(begin)-len(end)) + end
}

func TestReadLines(t *testing.T) {
	good, bad, long := analytics.Reason(""), reasonBadLine, reasonLongLine
	for _, c := range []struct {
		name, body string
		want       []analytics.Reason
	}{
		{"without an end", `{"url":"/a"}`, []analytics.Reason{good}},
		{"CRLF, empty lines", "\r\n{\"url\":\"/a\"}\r\n \t\r\n\n{\"url\":\"/b\"}\r\n", []analytics.Reason{good, good}},
		{"broken lines", "{\"url\":\"/a\"}\n{\"url\":\n[]\n\"x\"\n{\"url\":\"/\"} x\n{\"url\":\"/b\"}\n", []analytics.Reason{good, bad, bad, bad, bad, good}},
		{"wrong and unknown fields", "{\"url\":7}\n{\"more\":1,\"url\":\"/\"}\n{\"url\":\"/\",\"url\":\"/\"}\n{\"site\":\"blog\",\"url\":\"/\"}\n{}\n", []analytics.Reason{bad, good, bad, good, bad}},
		{"null, and texts with it", "null\n{\"url\":\"/\",\"name\":null}\n{\"url\":\"/null\"}\n{\"url\":\"/\\\"null\",\"lcp\":1.5}\n", []analytics.Reason{bad, bad, good, good}},
		{"beyond a field's length", `{"url":"/","name":"` + strings.Repeat("x", 121) + `"}`, []analytics.Reason{bad}},
		{"as long as a line may be", lineOf(maxEventBytes) + "\r\n" + lineOf(maxEventBytes), []analytics.Reason{good, good}},
		{"a byte too long", lineOf(maxEventBytes+1) + "\n" + lineOf(maxEventBytes+1) + "\r\n{\"url\":\"/\"}\n" + lineOf(maxEventBytes+1), []analytics.Reason{long, long, good, long}},
		{"much too long", lineOf(5*maxEventBytes) + "\n{\"url\":\"/\"}\n" + lineOf(3*maxEventBytes), []analytics.Reason{long, good, long}},
	} {
		if _, why := reasons(t, strings.NewReader(c.body)); !reflect.DeepEqual(why, c.want) {
			t.Errorf("%s: %q, want %q", c.name, why, c.want)
		}
		if len(c.body) < 1000 { // however it arrives
			if _, why := reasons(t, iotest.OneByteReader(strings.NewReader(c.body))); !reflect.DeepEqual(why, c.want) {
				t.Errorf("%s, byte by byte: %q, want %q", c.name, why, c.want)
			}
		}
	}
}

func TestReadLinesErrors(t *testing.T) {
	for _, body := range []string{"", "\n", " \r\n\n"} {
		if _, _, err := readLines(strings.NewReader(body)); !errors.Is(err, errNoLines) {
			t.Errorf("%q: %v", body, err)
		}
	}
	most := strings.Repeat("{\"url\":\"/\"}\n", maxEvents)
	if events, _ := reasons(t, strings.NewReader(most+"\n")); len(events) != maxEvents {
		t.Errorf("%d events, want %d", len(events), maxEvents)
	}
	if _, _, err := readLines(strings.NewReader(most + "x")); !errors.Is(err, errTooManyLines) {
		t.Errorf("a line too many: %v", err)
	}
	cut := io.MultiReader(strings.NewReader("{\"url\":\"/\"}\n{\"ur"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, _, err := readLines(cut); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a body that was cut: %v", err)
	}
	if _, _, err := readLines(http.MaxBytesReader(nil, io.NopCloser(strings.NewReader(most)), 1000)); !errors.As(err, new(*http.MaxBytesError)) {
		t.Errorf("too many bytes: %v", err)
	}
}

// Lines are treated like the events of a batch, also for random valid and invalid input.
func TestLinesEqualBatches(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("ONEFOLD_SIM_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("ONEFOLD_SIM_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	values := []string{`"/"`, `"/ü?a=b"`, `""`, `"\u00e4\n"`, `7`, `-1`, `1.5`, `"2026-05-12T14:00:00Z"`, `null`, `{}`, `{"a":"1"}`, `{"a":null}`, `{"address":"192.0.2.1","userAgent":"x"}`, `"` + strings.Repeat("ü", 130) + `"`}
	names := []string{"url", "url", "url", "id", "at", "name", "referrer", "screen", "engagedMs", "scroll", "lcp", "props", "visitor", "URL", "more"}
	accepted := 0
	for range 20_000 {
		var b strings.Builder
		for n := range 1 + random.IntN(3) {
			if n > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + names[random.IntN(len(names))] + `":` + values[random.IntN(len(values))])
		}
		line := "{" + b.String() + "}"
		events, why := reasons(t, strings.NewReader(line))
		_, want, _, ok := decodeEvents([]byte(`{"site":"blog","events":[`+line+`]}`), true)
		if ok != (why[0] == "") || ok && !reflect.DeepEqual(events, want) {
			t.Fatalf("%s: %+v %q, want %+v (%v)", line, events, why, want, ok)
		}
		if ok {
			accepted++
		}
	}
	if accepted < 100 {
		t.Errorf("only %d lines were right: that shows little", accepted)
	}
}
