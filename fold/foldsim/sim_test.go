package foldsim_test

import (
	"testing"
	"time"

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

// Some items wait over many flushes, some over few, some not at all.
func TestItemsThatWait(t *testing.T) {
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{
			foldTotals().With(fold.Hold(300 * time.Millisecond)), foldContinents(), foldLargest().With(fold.Hold(20 * time.Millisecond)), foldMixes(),
		},
		Write: writeOrders,
		Check: checkOrders,
	}, 1000)
}

// Whatever happens to workers, no lag that is shown is shorter than the truth.
func TestNoLagIsUnderstated(t *testing.T) {
	var seen foldsim.Watched
	foldsim.Test(t, foldsim.Scenario{
		Folds: []*fold.Fold{foldTotals().With(fold.Hold(300 * time.Millisecond)), foldContinents(), foldLargest(), foldMixes()},
		Write: writeOrders,
		Watch: &seen,
	}, 100)
	if seen.Behind < seen.Looks/20 {
		t.Errorf("too little was seen: %+v", seen)
	}
	t.Logf("%+v", seen)
}
