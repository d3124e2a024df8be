package athena

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/onefold/onefold/warehouse"
)

func TestTables(t *testing.T) {
	tables := Tables{Location: "s3://facts/of/mine/", Database: "onefold", Keys: map[warehouse.Dataset][]string{warehouse.Events: {"shop", "a%20b"}}}
	sql, err := tables.SQL()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"CREATE EXTERNAL TABLE IF NOT EXISTS `onefold`.`events` (\n  `time` timestamp,\n  `event_id` string,", "  `cls` double,\n",
		"`bool` boolean,", "`binary` binary,", "`seq` bigint,", "PARTITIONED BY (`site` string, `date` date)",
		"'projection.site.values' = 'shop,a%20b'", "'projection.fleet.type' = 'injected'",
		"'storage.location.template' = 's3://facts/of/mine/domain_events/type=${type}/date=${date}/'",
	} {
		if !strings.Contains(sql, want) {
			t.Errorf("no %q in\n%s", want, sql)
		}
	}
	glue, err := tables.Glue()
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				TableInput struct {
					Name              string
					StorageDescriptor struct{ Columns []struct{ Name, Type string } }
				}
			}
		}
	}
	if err == nil {
		err = json.Unmarshal(glue, &template)
	}
	if err != nil || len(template.Resources) != 4 || len(template.Resources["Events"].Properties.TableInput.StorageDescriptor.Columns) != len(warehouse.Events.Columns()) {
		t.Errorf("%v\n%s", err, glue)
	}
}

func TestBadTables(t *testing.T) {
	for _, bad := range []Tables{
		{Location: "http://x", Database: "onefold"}, {Location: "s3://b/it's`; DROP", Database: "onefold"}, {Location: "s3://bucket/x", Database: "One`Fold"}, {},
	} {
		if sql, err := bad.SQL(); err == nil || !strings.HasPrefix(err.Error(), "bad_") {
			t.Errorf("%+v: %v\n%s", bad, err, sql)
		}
	}
}
