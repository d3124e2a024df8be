package analyticsbench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"
)

const (
	visitEvents = 3    // events in a visit
	livePages   = 2000 // distinct paths of the site that events are sent to
)

var agents = [...]string{
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36",
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Safari/605.1.15",
	"Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Mobile/15E148 Safari/604.1",
	"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Mobile Safari/537.36",
	"Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0",
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36 Edg/137.0.0.0",
}

var referrers = [...]string{"", "", "", "https://www.google.com/", "https://news.ycombinator.com/item?id=1", "https://chatgpt.com/", "https://duckduckgo.com/"}

var languages = [...]string{"en-GB", "en-US", "de", "fr-FR", "es"}

var screens = [...]string{"1920x1080", "1440x900", "390x844", "412x915"}

// visit holds the fields that are the same in all events of a visit. Each visitor visits once.
type visit struct {
	address, agent, referrer, language, screen string
}

// visitor generates visits one after another, and the pages of each.
type visitor struct {
	random *rand.Rand
	pages  *rand.Zipf
	sent   int
	visit
}

func newVisitor(seed uint64, pages int) *visitor {
	random := rand.New(rand.NewPCG(seed, 7))
	return &visitor{random: random, pages: rand.NewZipf(random, 1.1, 8, uint64(pages-1))}
}

func one[T any](random *rand.Rand, of []T) T { return of[random.IntN(len(of))] }

// next returns the path of the next event. It starts a new visit after visitEvents.
func (v *visitor) next() string {
	if v.sent%visitEvents == 0 {
		ip := v.random.Uint32()
		v.visit = visit{
			fmt.Sprintf("%d.%d.%d.%d", 11+ip>>24%200, byte(ip>>16), byte(ip>>8), byte(ip)),
			one(v.random, agents[:]), one(v.random, referrers[:]), one(v.random, languages[:]), one(v.random, screens[:]),
		}
	}
	v.sent++
	return "/articles/" + strconv.FormatUint(v.pages.Uint64(), 10)
}

// appendEvent appends an event in the form of the tracker, without the closing brace.
func (v *visitor) appendEvent(b []byte) []byte {
	path := v.next()
	return fmt.Appendf(b, `{"site":"bench","id":%q,"url":"https://example.com%s","referrer":%q,"screen":%q,"language":%q`,
		ulid.MustNew(ulid.Timestamp(time.Now()), ulid.DefaultEntropy()), path, v.referrer, v.screen, v.language)
}

// single writes a request with one event.
func (v *visitor) single(request, body []byte) (_, _ []byte) {
	body = append(v.appendEvent(body[:0]), '}')
	request = fmt.Appendf(request[:0], "POST /api/event HTTP/1.1\r\nHost: bench\r\nContent-Type: text/plain\r\nUser-Agent: %s\r\nX-Forwarded-For: %s\r\nContent-Length: %d\r\n\r\n",
		v.agent, v.address, len(body))
	return append(request, body...), body
}

// batch writes a request with many events, each with its visitor, in the form of a server.
func (v *visitor) batch(request, body []byte, n int, key string) (_, _ []byte) {
	body = append(body[:0], `{"site":"bench","events":[`...)
	for i := range n {
		if i > 0 {
			body = append(body, ',')
		}
		body = v.appendTold(body)
	}
	body = append(body, "]}"...)
	return appendBatch(request[:0], "/api/events", "application/json", key, body), body
}

// lines writes the request of batch with one event per line.
func (v *visitor) lines(request, body []byte, n int, key string) (_, _ []byte) {
	body = body[:0]
	for range n {
		body = append(v.appendTold(body), '\n')
	}
	return appendBatch(request[:0], "/api/events?site=bench", "application/x-ndjson", key, body), body
}

// appendTold appends an event with its visitor.
func (v *visitor) appendTold(b []byte) []byte {
	path := v.next()
	return fmt.Appendf(b, `{"id":%q,"url":"https://example.com%s","referrer":%q,"screen":%q,"language":%q,"visitor":{"address":%q,"userAgent":%q}}`,
		ulid.MustNew(ulid.Timestamp(time.Now()), ulid.DefaultEntropy()), path, v.referrer, v.screen, v.language, v.address, v.agent)
}

func appendBatch(request []byte, path, kind, key string, body []byte) []byte {
	request = fmt.Appendf(request, "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: %s\r\nUser-Agent: bench\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", path, kind, key, len(body))
	return append(request, body...)
}
