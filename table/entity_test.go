package table

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type pageKey struct {
	SiteID  string `dynamodbav:"siteId"`
	Shard   int    `dynamodbav:"shard"`
	EventID string `dynamodbav:"eventId"`
}

// page has the size and the mix of fields of a real event.
type page struct {
	pageKey
	At       time.Time         `dynamodbav:"at"`
	Seen     time.Time         `dynamodbav:"seen,unixms,omitempty"`
	Visitor  string            `dynamodbav:"visitor,omitempty"`
	Session  string            `dynamodbav:"session,omitempty"`
	Path     string            `dynamodbav:"path"`
	Title    string            `dynamodbav:"title,omitempty"`
	Referrer string            `dynamodbav:"referrer,omitempty"`
	Source   string            `dynamodbav:"source,omitempty"`
	Country  string            `dynamodbav:"country,omitempty"`
	Region   string            `dynamodbav:"region,omitempty"`
	City     string            `dynamodbav:"city,omitempty"`
	Browser  string            `dynamodbav:"browser,omitempty"`
	OS       string            `dynamodbav:"os,omitempty"`
	Device   string            `dynamodbav:"device,omitempty"`
	Language string            `dynamodbav:"language,omitempty"`
	Width    int               `dynamodbav:"width,omitempty"`
	Height   int               `dynamodbav:"height,omitempty"`
	Seconds  float64           `dynamodbav:"seconds,omitempty"`
	Bounce   bool              `dynamodbav:"bounce,omitempty"`
	Sketch   []byte            `dynamodbav:"sketch,omitempty"`
	Props    map[string]string `dynamodbav:"props,omitempty"`
	Goals    []goal            `dynamodbav:"goals,omitempty"`
	Parent   *page             `dynamodbav:"parent,omitempty"`
}

type goal struct {
	Name string    `dynamodbav:"name"`
	At   time.Time `dynamodbav:"at"`
}

func definePages() *Entity[page, pageKey] {
	return Define[page, pageKey]("test.page", Def[page]{
		PK: "SITE#{siteId}#SHARD#{shard}", SK: "EVENT#{eventId}",
		Indexes: []Index[page]{{Name: "gsi1", PK: "VISITOR#{visitor}", SK: "EVENT#{at:ms}"}},
		Expires: func(p *page) time.Time { return p.At.Add(30 * 24 * time.Hour) },
	})
}

func samplePage() page {
	at := time.Date(2026, 5, 12, 14, 3, 2, 123e6, time.UTC)
	return page{
		pageKey: pageKey{"my-site", 3, "01HXQ5V7M3E8K2N4P6R8T0W2Y4"}, At: at, Visitor: "v-8f3a1c",
		Session: "01HXQ5V7M3E8K2N4P6R8T0W2Y5", Path: "/docs/getting-started", Title: "Getting started",
		Referrer: "https://example.org/", Source: "example.org", Country: "DE", Region: "BE", City: "Berlin",
		Browser: "Firefox", OS: "Linux", Device: "desktop", Language: "de-DE", Width: 1920, Height: 1080, Seconds: 12.5,
		Bounce: true,
	}
}

func TestEncodeDecode(t *testing.T) {
	pages, v := definePages(), samplePage()
	v.Seen, v.Sketch, v.Props = v.At.Add(time.Second), []byte{1, 2}, map[string]string{"plan": "free"}
	v.Goals = []goal{{"signup", v.At}}
	v.Parent = &page{Path: "/", At: v.At}
	it, err := pages.Encode(&v)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"pk": "SITE#my-site#SHARD#3", "sk": "EVENT#01HXQ5V7M3E8K2N4P6R8T0W2Y4", "et": "test.page",
		"gsi1pk": "VISITOR#v-8f3a1c", "gsi1sk": "EVENT#2026-05-12T14:03:02.123Z", "at": "2026-05-12T14:03:02.123Z",
	} {
		if got := text(it, name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if got := it["ttl"].(*types.AttributeValueMemberN).Value; got != "1781186582" {
		t.Errorf("ttl = %s", got)
	}
	for _, name := range []string{"siteId", "shard", "eventId"} {
		if _, ok := it[name]; ok {
			t.Errorf("key field %s is stored twice", name)
		}
	}
	if k := pages.KeyOf(&v); k != v.pageKey {
		t.Errorf("KeyOf = %v", k)
	}
	got, err := pages.Decode(it)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, v) {
		t.Errorf("decoded\n%+v, want\n%+v", got, v)
	}
}

func BenchmarkEncode(b *testing.B) {
	pages, v := definePages(), samplePage()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pages.Encode(&v); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncodeSDK is the baseline for Encode: the SDK marshals the same struct, without keys and
// ttl.
func BenchmarkEncodeSDK(b *testing.B) {
	v := samplePage()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := attributevalue.MarshalMap(&v); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeSDK is the baseline for Decode.
func BenchmarkDecodeSDK(b *testing.B) {
	v := samplePage()
	it, err := attributevalue.MarshalMap(&v)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := attributevalue.UnmarshalMap(it, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	pages, v := definePages(), samplePage()
	it, err := pages.Encode(&v)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := pages.DecodeInto(it, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	pages, v := definePages(), samplePage()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pages.Key(v.pageKey); err != nil {
			b.Fatal(err)
		}
	}
}
