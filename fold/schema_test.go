package fold

import "testing"

func TestSchemaIsSound(t *testing.T) {
	if Schema.Name() != "fold" {
		t.Fatalf("schema is called %q", Schema.Name())
	}
}
