package page_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/analytics"
	"github.com/onefold/onefold/blueprint"
	"github.com/onefold/onefold/blueprint/page"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/table"
	"github.com/onefold/onefold/telemetry"
)

func design(t *testing.T, s *table.Schema, flows ...blueprint.Flow) *blueprint.Design {
	t.Helper()
	db, err := engine.OpenMemory(engine.Options{Clock: func() time.Time { return blueprint.Epoch }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	d, err := blueprint.New(t.Context(), s, blueprint.Options{Store: db, Flows: flows})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t *testing.T, d *blueprint.Design) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWhatIsOnThePage checks that every entity and pattern is on the page, each pattern with its
// requests, that links lead somewhere, and that the page loads nothing.
func TestWhatIsOnThePage(t *testing.T) {
	fetched := regexp.MustCompile(`src=|<link|@import|url\(|href="https?:`)
	within := regexp.MustCompile(`href="#([^"]+)"`)
	for _, s := range []*table.Schema{analytics.Schema, telemetry.Schema, eventstore.Schema} {
		d := design(t, s)
		got := write(t, d)
		for _, e := range d.Entities {
			if !strings.Contains(got, ">"+e.Name+"<") {
				t.Errorf("%s: entity %s is not there", s.Name(), e.Name)
			}
		}
		for _, p := range d.Patterns {
			if !strings.Contains(got, `<b>`+p.ID+`</b> `) {
				t.Errorf("%s: pattern %s is not shown executed", s.Name(), p.ID)
			}
		}
		for _, link := range within.FindAllStringSubmatch(got, -1) {
			if !strings.Contains(got, `id="`+link[1]+`"`) {
				t.Errorf("%s: a link leads to %q, which is not there", s.Name(), link[1])
			}
		}
		if m := fetched.FindString(got); m != "" {
			t.Errorf("%s: the page fetches something: %q", s.Name(), m)
		}
		if got != write(t, design(t, s)) {
			t.Errorf("%s: two pages differ", s.Name())
		}
	}
}

// TestDiagrams checks that diagrams are well-formed, whatever the names of the folds are and
// however they are connected.
func TestDiagrams(t *testing.T) {
	d := design(t, telemetry.Schema,
		blueprint.Flow{Name: `a"<b>`, From: []string{"telemetry.block"}, Into: "telemetry.device"},
		blueprint.Flow{Name: "back", From: []string{"telemetry.device"}, Into: "telemetry.block"},
		blueprint.Flow{Name: "itself", From: []string{"telemetry.status", "nothing.of.it"}, Into: "telemetry.status"},
	)
	drawings := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(write(t, d), -1)
	if len(drawings) != 4 { // relations, one index, flows, a timeline
		t.Errorf("%d drawings", len(drawings))
	}
	for _, svg := range drawings {
		dec := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %.200s", err, svg)
			}
		}
	}
}

type noteKey struct {
	ID string `dynamodbav:"id"`
}

type note struct {
	noteKey
	Text string `dynamodbav:"text"`
}

// TestTextIsEscaped checks that text from a schema never becomes part of the page's markup.
func TestTextIsEscaped(t *testing.T) {
	const bad = `<script>alert("x")</script>`
	notes := table.Define[note, noteKey]("test.note", table.Def[note]{
		PK: "NOTE#{id}", SK: "NOTE<i>", Doc: bad, Example: func(n *note) { n.Text = bad },
	})
	byID := table.NewGet[noteKey](notes, table.GetDef{ID: "N1", Question: bad})
	got := write(t, design(t, table.MustSchema("notes", notes, byID, table.Annotations{
		Gaps: []table.Gap{{Question: bad, Needs: bad}}, Decisions: []table.Decision{{Title: bad, Link: "javascript:alert(1)"}},
	})))
	for _, raw := range []string{bad, "NOTE<i>", `href="javascript:`} {
		if strings.Contains(got, raw) {
			t.Errorf("%q is on the page as it is", raw)
		}
	}
	if strings.Count(got, "&lt;script&gt;") < 5 {
		t.Error("the text is not there")
	}
}
