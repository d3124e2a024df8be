package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/onefold/onefold/dynamo"
)

// Access key of the test databases.
const testKeyID, testKeySecret = "AKIDEXAMPLE", "a/secret+"

// serveDynamodb starts a server in its own process.
func serveDynamodb(t *testing.T, args ...string) *served {
	t.Helper()
	return startServer(t, append([]string{"dynamodb", "--addr", "127.0.0.1:0"}, args...)...)
}

func (s *served) dynamodb(id, secret string) *dynamodb.Client {
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, nil
	})
	return dynamodb.New(dynamodb.Options{Region: "eu-central-1", Credentials: credentials, BaseEndpoint: &s.url, Retryer: aws.NopRetryer{}})
}

// TestDynamodb uses a real process through the SDK's client, stops it and restarts it.
func TestDynamodb(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"--data", data, "--region", "eu-central-1", "--access-key", testKeyID + ":" + testKeySecret}
	s := serveDynamodb(t, args...)
	client := s.dynamodb(testKeyID, testKeySecret)
	createMusic(t, client)
	item := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("Music"), Item: item}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.dynamodb(testKeyID, "another").ListTables(t.Context(), &dynamodb.ListTablesInput{}); dynamo.Code(err) != "InvalidSignatureException" {
		t.Errorf("another secret: %v", err)
	}
	s.checkMetrics(t)
	second := process(t, append([]string{"dynamodb", "--addr", "127.0.0.1:0"}, args...)...)
	if told, err := second.CombinedOutput(); err == nil || !strings.Contains(string(told), "in_use") {
		t.Errorf("a second process on one directory: %v %s", err, told)
	}
	if err := s.end(t, syscall.SIGTERM); err != nil {
		t.Errorf("stopped: %v", err)
	}
	s = serveDynamodb(t, args...)
	out, err := s.dynamodb(testKeyID, testKeySecret).GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("Music"), Key: item})
	if err != nil || len(out.Item) != 1 {
		t.Errorf("after a restart: %v %v", out, err)
	}
	if err := s.end(t, os.Interrupt); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

func createMusic(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	out, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("Music"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if arn := aws.ToString(out.TableDescription.TableArn); !strings.Contains(arn, ":eu-central-1:") {
		t.Errorf("table is %s", arn)
	}
}

// checkMetrics checks that metrics require a key.
func (s *served) checkMetrics(t *testing.T) {
	t.Helper()
	for _, secret := range []string{testKeySecret, "another", ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(testKeyID, secret)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		told, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		switch {
		case secret != testKeySecret && answer.StatusCode != http.StatusUnauthorized:
			t.Errorf("metrics with the secret %q: %s", secret, answer.Status)
		case secret == testKeySecret && !strings.Contains(string(told), `onefold_dynamodb_consumed_capacity_units_total{direction="write",index="",table="Music"} 1`):
			t.Errorf("metrics: %s %s", answer.Status, told)
		}
	}
}
