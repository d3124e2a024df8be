package sns_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/sns"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/outbox"
	"github.com/onefold/onefold/eventstore/outbox/sns"
	"github.com/onefold/onefold/eventstore/subscription"
)

const standard, fifo = "arn:aws:sns:eu-central-1:123456789012:orders", "arn:aws:sns:eu-central-1:123456789012:orders.fifo"

// service is SNS, for the SDK's client: it deduplicates, and refuses messages.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	requests []url.Values
	stored   []string                        // IDs of events, without repetitions that SNS recognizes
	refuse   func(id string) (code string)   // "": accept
	lose     func(request int) (answer bool) // drops the answer to a request
	seen     map[string]bool
}

func newService(t interface{ Cleanup(func()) }) (*service, *sdk.Client) {
	s := &service{refuse: func(string) string { return "" }, lose: func(int) bool { return false }, seen: map[string]bool{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
	})
	return s, sdk.New(sdk.Options{Region: "eu-central-1", BaseEndpoint: &s.URL, Credentials: credentials, RetryMaxAttempts: 1})
}

const field = "PublishBatchRequestEntries.member.%d.%s"

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ParseForm() != nil || r.PostForm.Get("Action") != "PublishBatch" {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	s.requests = append(s.requests, r.PostForm)
	var ok, failed strings.Builder
	for i := 1; r.PostForm.Has(fmt.Sprintf(field, i, "Id")); i++ {
		number, id := r.PostForm.Get(fmt.Sprintf(field, i, "Id")), idOf(r.PostForm, i)
		if code := s.refuse(id); code != "" {
			fmt.Fprintf(&failed, "<member><Id>%s</Id><Code>%s</Code><Message>because</Message><SenderFault>true</SenderFault></member>", number, code)
			continue
		}
		if dedup := r.PostForm.Get(fmt.Sprintf(field, i, "MessageDeduplicationId")); dedup == "" || !s.seen[dedup] {
			s.stored, s.seen[dedup] = append(s.stored, id), true
		}
		fmt.Fprintf(&ok, "<member><Id>%s</Id><MessageId>m</MessageId></member>", number)
	}
	if s.lose(len(s.requests)) {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintf(w, `<PublishBatchResponse><PublishBatchResult><Successful>%s</Successful><Failed>%s</Failed></PublishBatchResult></PublishBatchResponse>`, ok.String(), failed.String())
}

// idOf returns the ID of an event in a request.
func idOf(q url.Values, i int) string {
	_, id, _ := strings.Cut(q.Get(fmt.Sprintf(field, i, "Message")), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

// feed returns events of orders. The ID of an event is its order, a dash and its number.
func feed(orders ...string) []eventstore.FeedEvent {
	var all []eventstore.FeedEvent
	seqs := map[string]int64{}
	for i, id := range orders {
		seqs[id]++
		all = append(all, eventstore.FeedEvent{Position: int64(i + 1), Event: eventstore.Event{
			EventKey: eventstore.EventKey{ID: eventstore.ID{Type: "order", ID: id}, Seq: seqs[id]}, EventID: fmt.Sprintf("%s-%d", id, seqs[id]),
			EventType: "OrderPaid", Payload: eventstore.Payload(`{}`),
		}})
	}
	return all
}

func isPermanent(err error) bool {
	for want := fmt.Sprintf("%T", subscription.Permanent(nil)); err != nil; {
		if fmt.Sprintf("%T", err) == want {
			return true
		}
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return false
		}
		err = u.Unwrap()
	}
	return false
}

func TestPublishBatch(t *testing.T) {
	s, client := newService(t)
	for _, arn := range []string{standard, fifo} {
		n, err := outbox.To(sns.New(client, arn, sns.Options{}), outbox.Options{TypePrefix: "com.example."})(t.Context(), feed("a", "b", "a"))
		if n != 3 || err != nil {
			t.Fatal(n, err)
		}
		q := s.requests[0]
		if len(s.requests) != 2 || q.Get("TopicArn") != arn || idOf(q, 2) != "b-1" || idOf(s.requests[1], 1) != "a-2" {
			t.Errorf("the requests are %v", s.requests)
		}
		group, dedup := q.Get(fmt.Sprintf(field, 1, "MessageGroupId")), q.Get(fmt.Sprintf(field, 1, "MessageDeduplicationId"))
		if arn == fifo && (group != "order/a" || dedup != "a-1") || arn == standard && group+dedup != "" {
			t.Errorf("%s: group %q, deduplication %q", arn, group, dedup)
		}
		attributes := map[string]string{}
		for i := 1; i <= 3; i++ {
			attributes[q.Get(fmt.Sprintf(field, 1, fmt.Sprintf("MessageAttributes.entry.%d.Name", i)))] = q.Get(fmt.Sprintf(field, 1, fmt.Sprintf("MessageAttributes.entry.%d.Value.StringValue", i)))
		}
		if want := map[string]string{"type": "com.example.OrderPaid", "source": "onefold", "subject": "order/a"}; fmt.Sprint(attributes) != fmt.Sprint(want) {
			t.Errorf("the attributes are %v", attributes)
		}
		s.requests = nil
	}
}

func TestGroups(t *testing.T) {
	s, client := newService(t)
	ids := []string{"a b", strings.Repeat("x", 200), "ü", "plain"}
	if n, err := outbox.To(sns.New(client, fifo, sns.Options{}), outbox.Options{})(t.Context(), feed(ids...)); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	groups := map[string]bool{}
	for i := range ids {
		group := s.requests[0].Get(fmt.Sprintf(field, i+1, "MessageGroupId"))
		if groups[group] || len(group) > 128 || strings.Trim(group, "abcdefghijklmnopqrstuvwxyz0123456789/") != "" {
			t.Errorf("the group of %q is %q", ids[i], group)
		}
		groups[group] = true
	}
}

func TestPartialFailure(t *testing.T) {
	for code, permanent := range map[string]bool{"InternalError": false, "KMSThrottling": false, "AuthorizationError": false, "InvalidParameter": true} {
		s, client := newService(t)
		s.refuse = func(id string) string {
			if id == "b-1" {
				return code
			}
			return ""
		}
		n, err := outbox.To(sns.New(client, fifo, sns.Options{}), outbox.Options{})(t.Context(), feed("a", "b", "c", "b", "c"))
		if n != 1 || err == nil || isPermanent(err) != permanent || !slices.Equal(s.stored, []string{"a-1", "c-1"}) {
			t.Errorf("%s: %d, %v, stored %v", code, n, err, s.stored)
		}
	}
	s, client := newService(t)
	events := feed("a")
	events[0].Payload = eventstore.Payload(`"` + strings.Repeat("x", 256<<10) + `"`)
	if n, err := outbox.To(sns.New(client, fifo, sns.Options{}), outbox.Options{})(t.Context(), events); n != 0 || !isPermanent(err) || len(s.requests) != 0 {
		t.Errorf("too large: %d, %v", n, err)
	}
}

// TestRandomFailures loses answers and refuses messages at random: each event is stored once, in the
// order of its aggregate.
func TestRandomFailures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, client := newService(t)
		events := feed(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 0, 40).Draw(t, "orders")...)
		s.refuse = func(string) string {
			if rapid.IntRange(0, 4).Draw(t, "fate") == 0 {
				return "InternalError"
			}
			return ""
		}
		s.lose = func(int) bool { return rapid.IntRange(0, 4).Draw(t, "answer") == 0 }
		publish := outbox.To(sns.New(client, fifo, sns.Options{}), outbox.Options{})
		for rest := events; len(rest) > 0; {
			n, err := publish(t.Context(), rest)
			if err == nil != (n == len(rest)) {
				t.Fatal(n, err)
			}
			rest = rest[n:]
		}
		if len(s.stored) != len(events) {
			t.Fatalf("%d events, stored %v", len(events), s.stored)
		}
		for _, e := range events {
			if e.Seq > 1 && slices.Index(s.stored, e.EventID) < slices.Index(s.stored, fmt.Sprintf("%s-%d", e.ID.ID, e.Seq-1)) {
				t.Fatalf("%s overtook: %v", e.EventID, s.stored)
			}
		}
	})
}
