package foldsim_test

import (
	"testing"

	"github.com/onefold/onefold/fold"
	"github.com/onefold/onefold/fold/foldsim"
)

func TestDerivedItemsAreTheFoldOfAllChanges(t *testing.T) {
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{foldTotals(), foldContinents(), foldLargest(), foldMixes()},
		Write: writeOrders,
		Check: checkOrders,
	}, 1000)
}
