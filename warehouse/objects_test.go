package warehouse_test

import (
	"testing"

	"github.com/onefold/onefold/warehouse"
	"github.com/onefold/onefold/warehouse/warehousetest"
)

func TestDir(t *testing.T) {
	d, err := warehouse.OpenDir(t.TempDir() + "/in/here")
	if err != nil {
		t.Fatal(err)
	}
	warehousetest.Suite(t, d)
}

func TestMemory(t *testing.T) { warehousetest.Suite(t, warehousetest.NewMemory()) }
