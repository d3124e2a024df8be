package events_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/onefold/onefold/dynamo"
	"github.com/onefold/onefold/engine"
	"github.com/onefold/onefold/eventstore"
	"github.com/onefold/onefold/eventstore/subscription"
	"github.com/onefold/onefold/server/accounts"
	"github.com/onefold/onefold/server/servertest"
	"github.com/onefold/onefold/table"
)

// The person's data is nowhere in the table, its change stream or its files, and the name of a plan,
// which is not personal, is in all of them.
func TestPersonalDataIsNotInFiles(t *testing.T) {
	dir := t.TempDir()
	db, err := engine.Open(dir, engine.Options{})
	servertest.Must(t, err)
	closed := false
	defer func() {
		if !closed {
			servertest.Must(t, db.Close())
		}
	}()
	t.Run("use", func(t *testing.T) {
		o := newOffice(t, db, newMaster(t))
		o.owner.Want(200, "", "PUT", typePaths+"/Registered/schema", personSchema)
		_, err := subscription.Create(t.Context(), mustStore(t, o.Table), "mails", 1, 0, subscription.Settings{Attempts: 1})
		servertest.Must(t, err)
		for i := range 60 {
			body := strings.Replace(registered(fmt.Sprint("p-", i%7), "Ada Lovelace", "Baker Street", "192.0.2.77"), `{"events"`, fmt.Sprintf(`{"commitId":"c%d","reserve":[{"scope":"email","value":"ada@example.org%d","subject":"p-%d"}],"events"`, i, i, i%7), 1)
			o.owner.Want(201, "", "POST", fmt.Sprintf("%s/%d/events", people, i%3), strings.Replace(body, "gold", "gold-plan-of-nobody", 1))
		}
		servertest.Must(t, o.Worker.Drain(t.Context()))
		got := o.receive(o.Browser(), "mails", `{"events":5}`)
		o.Browser().Want(200, "", "POST", subscriptions+"/mails/reject", `{"tokens":`+tokens(got[0])+`,"reason":"no","park":true}`, o.keys[accounts.Write]...)
		o.owner.Want(200, "", "POST", subjects+"/p-1/erase", "")
		servertest.Must(t, o.Worker.Drain(t.Context()))
		for where, text := range map[string]string{"table": items(t, db), "change stream": records(t, db)} {
			sayNothing(t, where, text)
		}
	})
	closed = true
	servertest.Must(t, db.Close())
	files := ""
	servertest.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files += string(text)
		return err
	}))
	sayNothing(t, "files", files)
}

func mustStore(t *testing.T, on *table.Table) *eventstore.Store {
	t.Helper()
	s, err := eventstore.New(on, eventstore.Options{})
	servertest.Must(t, err)
	return s
}

// sayNothing fails if a text has personal data, or lacks what is not personal.
func sayNothing(t *testing.T, where, text string) {
	t.Helper()
	for _, word := range []string{"Ada", "Lovelace", "Baker", "192.0.2.77", "ada@example.org"} {
		if strings.Contains(text, word) {
			t.Errorf("%s: says %q", where, word)
		}
	}
	if !strings.Contains(text, "gold-plan-of-nobody") {
		t.Errorf("%s: %d bytes without the plan, so that the test finds nothing", where, len(text))
	}
}

// items returns all items of the table as text. Events are in binary attributes, without compression.
func items(t *testing.T, db dynamo.API) string {
	t.Helper()
	var all strings.Builder
	in := &dynamodb.ScanInput{TableName: aws.String("onefold")}
	for {
		out, err := db.Scan(t.Context(), in)
		servertest.Must(t, err)
		for _, item := range out.Items {
			all.WriteString(plainText(t, item))
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return all.String()
		}
	}
}

// records returns all images of the change stream as text.
func records(t *testing.T, db *engine.DB) string {
	t.Helper()
	var all strings.Builder
	streams, err := db.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{TableName: aws.String("onefold")})
	servertest.Must(t, err)
	arn := streams.Streams[0].StreamArn
	described, err := db.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	servertest.Must(t, err)
	for _, shard := range described.StreamDescription.Shards {
		it, err := db.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
		servertest.Must(t, err)
		for next := it.ShardIterator; next != nil; {
			out, err := db.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: next})
			servertest.Must(t, err)
			for _, r := range out.Records {
				all.WriteString(plainText(t, r.Dynamodb.OldImage) + plainText(t, r.Dynamodb.NewImage))
			}
			if next = out.NextShardIterator; len(out.Records) == 0 {
				break
			}
		}
	}
	return all.String()
}

// plainText returns an item as text, with binary values decoded.
func plainText(t *testing.T, item any) string {
	t.Helper()
	encoded, err := json.Marshal(item)
	servertest.Must(t, err)
	var decoded any
	servertest.Must(t, json.Unmarshal(encoded, &decoded))
	var all strings.Builder
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, part := range v {
				add(name)
				add(part)
			}
		case []any:
			for _, part := range v {
				add(part)
			}
		case string:
			all.WriteString(v + "\n")
			if b, err := base64.StdEncoding.DecodeString(v); err == nil {
				all.Write(append(b, '\n'))
			}
		}
	}
	add(decoded)
	return all.String()
}
