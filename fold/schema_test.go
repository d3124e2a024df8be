package fold

import "testing"

func TestSchemaIsValid(t *testing.T) {
	if Schema.Name() != "fold" {
		t.Fatalf("schema is called %q", Schema.Name())
	}
}
