package events_test

import (
	"strings"
	"testing"

	"github.com/onefold/onefold/server/accounts"
)

// Schemas are set by version, replaced by compatible ones only, and appends over HTTP must match
// them, all or none.
func TestEventSchemas(t *testing.T) {
	s := newShop(t)
	const path = "/api/v1/events/event-types/Paid/schema"
	const one = orders + "/1/events"
	put := func(status int, says, version, schema string) {
		t.Helper()
		s.owner.Want(status, says, "PUT", path+version, `{"schema":`+schema+`}`)
	}
	s.owner.Want(404, "no_such_schema", "GET", path, "")
	s.append("1", `{"commitId":"early","events":[{"type":"Paid","data":"anything"}]}`)
	const first = `{"type":"object","required":["amount"],"properties":{"amount":{"type":"integer"},"by":{"$ref":"#/$defs/name"}},"$defs":{"name":{"type":"string","maxLength":3}}}`
	put(200, `{"type":"Paid","version":1,"schema":{"type":"object",`, "", first)
	put(200, `"versions":[1]`, "?version=1", first)
	put(409, `"location":"body.schema/required"`, "", strings.Replace(first, `["amount"]`, `["amount","by"]`, 1))
	put(422, "invalid_schema", "", `{"type":"strange"}`)
	put(422, "invalid_schema", "", `{"$ref":"https://example.com/schema"}`)
	put(422, "invalid_schema", "", `{"pattern":"`+strings.Repeat("x", 66<<10)+`"}`)
	put(422, "invalid_request", "?version=0", `{}`)
	post := func(status int, says, body string) {
		t.Helper()
		s.owner.Want(status, says, "POST", one, body)
	}
	post(201, `"version":2`, `{"events":[{"type":"Paid","data":{"amount":3,"by":"ada"}}]}`)
	post(422, `"location":"body.events[1].data/by"`, `{"events":[{"type":"Paid","data":{"amount":3}},{"type":"Paid","data":{"amount":3,"by":"secret"}}]}`)
	post(422, "schema_violation", `{"events":[{"type":"Paid"}]}`)
	post(422, "schema_violation", `{"events":[{"type":"Paid","binary":"AAAA"}]}`)
	post(422, `"location":"body.events[0].schema"`, `{"events":[{"type":"Paid","schema":2,"data":{}}]}`)
	post(200, `"again":true`, `{"commitId":"early","events":[{"type":"Paid","data":"anything"}]}`)
	post(422, "schema_violation", `{"commitId":"late","events":[{"type":"Paid","data":"anything"}]}`)
	s.owner.Want(422, `"location":"body.appends[1].events[0].data"`, "POST", "/api/v1/events/appends",
		`{"appends":[{"type":"order","id":"2","events":[{"type":"Other"}]},{"type":"order","id":"3","events":[{"type":"Paid","data":{}}]}]}`)
	s.owner.Want(404, "no_such_aggregate", "GET", orders+"/2", "") // nothing half done
	s.owner.Want(200, `"version":2`, "GET", orders+"/1", "")
	put(200, `"versions":[1,2]`, "?version=2", `{"type":"object","required":["cents"]}`)
	post(201, `"version":3`, `{"events":[{"type":"Paid","schema":2,"data":{"cents":3}}]}`)
	s.owner.Want(200, `"version":2,"schema":{"type":"object","required":["cents"]},"versions":[1,2]`, "GET", path, "")
	s.owner.Want(200, `"version":1,`, "GET", path+"?version=1", "")
	s.owner.Want(404, "no_such_schema", "GET", path+"?version=3", "")
	web := s.Browser()
	web.Want(200, `"version":2`, "GET", path, "", s.keys[accounts.Read]...)
	web.Want(403, "forbidden", "PUT", path, `{"schema":{}}`, s.keys[accounts.Read]...)
	s.owner.Want(200, "schema.put", "GET", "/api/v1/audit", "")
	remove := func(status int, says, version string) {
		t.Helper()
		s.owner.Want(status, says, "DELETE", path+version, "")
	}
	remove(422, "invalid_request", "")
	remove(404, "no_such_schema", "?version=3")
	remove(204, "", "?version=2")
	remove(404, "no_such_schema", "?version=2")
	post(422, `"location":"body.events[0].schema"`, `{"events":[{"type":"Paid","schema":2,"data":{"cents":3}}]}`)
	web.Want(403, "forbidden", "DELETE", path+"?version=1", "", s.keys[accounts.Read]...)
	remove(204, "", "?version=1")
	post(201, "", `{"events":[{"type":"Paid","data":"anything"}]}`)
	s.owner.Want(404, "no_such_schema", "GET", path, "")
	s.owner.Want(200, "schema.delete", "GET", "/api/v1/audit", "")
}
